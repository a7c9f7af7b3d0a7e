import type { Call } from '../call';
import type { ServedModel } from '../engine';
import { json } from '../respond';

/** GET /v1/models */
export async function listModels(call: Call): Promise<Response> {
  return json({ object: 'list', data: call.state.models.all.map(describe) });
}

/** GET /v1/models/{id} */
export async function showModel(call: Call, id: string): Promise<Response> {
  return json(describe(call.state.models.find(id)));
}

function describe({ id, created }: ServedModel) {
  return { id, object: 'model', created, owned_by: 'local' };
}
