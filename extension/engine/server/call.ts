import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ServedModel, ServerEngine } from './engine';
import { tooMany } from './errors';
import { MAX_ACTIVE_CHOICES, type Timeouts } from './limits';
import type { ServerMetrics } from './metrics';
import type { ModelList } from './models';

/** What all requests of a server share. */
export interface ServerState {
  readonly models: ModelList;
  readonly metrics: ServerMetrics;
  readonly timeouts: Timeouts;
  readonly version: string;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
  /** Answers under way, of all requests. */
  activeChoices: number;
}

/** One request that has passed the front door. */
export class Call {
  readonly id = randomBytes(12).toString('hex');
  readonly startedAt = performance.now();
  /** Seconds since 1970. */
  readonly created = Math.floor(Date.now() / 1000);
  /** For the log: numbers, never content. */
  readonly facts: string[] = [];

  constructor(
    readonly state: ServerState,
    /** JSON; null where a request has none. */
    public body: unknown,
    readonly response: ServerResponse,
    /** The client has gone, or the server is shutting down. */
    readonly signal: AbortSignal,
  ) {}

  /** Runs a task with the model that the request names, or the first one. */
  use<T>(
    model: string | undefined,
    task: (engine: ServerEngine, model: ServedModel) => Promise<T>,
  ): Promise<T> {
    return this.state.models.use(model, task);
  }

  /** Takes room for so many answers while `task` runs; 429 when there is none. */
  async withRoom<T>(choices: number, task: () => Promise<T>): Promise<T> {
    const { state } = this;
    if (state.activeChoices + choices > MAX_ACTIVE_CHOICES) {
      throw tooMany(
        `${state.activeChoices} answers are under way, at most ${MAX_ACTIVE_CHOICES} can be; try again when some have ended`,
      );
    }
    state.activeChoices += choices;
    try {
      return await task();
    } finally {
      state.activeChoices -= choices;
    }
  }
}
