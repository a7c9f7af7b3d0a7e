import { setTimeout as delay } from 'node:timers/promises';
import type { ServedModel, ServerEngine } from './engine';
import { ApiError, unavailable } from './errors';

/** The models of a server, the first of which serves requests that name none. */
export class ModelList {
  constructor(
    readonly all: readonly ServedModel[],
    /** A load that takes longer is not waited for. */
    private readonly loadMs: number,
  ) {}

  /** Throws 404 for a name that is not served. */
  find(id: string | undefined): ServedModel {
    const model = id === undefined ? this.all[0] : this.all.find((served) => served.id === id);
    if (model !== undefined) return model;
    const shown = JSON.stringify((id ?? '').slice(0, 200));
    const known = this.all.map((served) => served.id).join(', ');
    throw new ApiError(
      404,
      'model_not_found',
      `model ${shown} is not served here; there is ${known}`,
      {
        param: 'model',
      },
    );
  }

  /** Runs a task with a model; 503 with Retry-After when the model takes long to load. */
  async use<T>(
    id: string | undefined,
    task: (engine: ServerEngine, model: ServedModel) => Promise<T>,
  ): Promise<T> {
    const model = this.find(id);
    const waiting = new AbortController();
    let hasStarted = false;
    const run = model.use(async (engine) => {
      if (waiting.signal.aborted) throw unavailable('loading', 'not waited for any more');
      hasStarted = true;
      waiting.abort();
      return task(engine, model);
    });
    const late = delay(this.loadMs, undefined, { signal: waiting.signal, ref: false }).catch(
      () => undefined,
    );
    await Promise.race([run.then(undefined, () => undefined), late]);
    if (!hasStarted && model.state === 'loading') {
      waiting.abort();
      run.catch(() => undefined);
      throw unavailable('loading', `the model ${model.id} is being loaded; try again in a moment`);
    }
    return run;
  }
}
