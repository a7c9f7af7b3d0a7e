import type { Call } from '../call';
import { unavailable } from '../errors';
import { METRICS_TYPE } from '../metrics';
import { json } from '../respond';

/** GET /health: says nothing of models or paths, since it needs no token. */
export async function health(call: Call): Promise<Response> {
  const states = call.state.models.all.map(({ state }) => state);
  if (states.includes('loading')) throw unavailable('loading', 'a model is being loaded');
  if (states.includes('failed')) throw unavailable('unavailable', 'a model could not be loaded');
  return json({ status: 'ok' });
}

/** GET /version */
export async function version(call: Call): Promise<Response> {
  return json({ version: call.state.version });
}

/** GET /metrics, for Prometheus. */
export async function metrics({ state }: Call): Promise<Response> {
  const text = state.metrics.text(state.models.all, state.activeChoices);
  return new Response(text, { headers: { 'content-type': METRICS_TYPE } });
}
