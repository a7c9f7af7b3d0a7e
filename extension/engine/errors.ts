/** Why an engine call failed. The CLI, the child's protocol and the server each map a code to their own status. */
export type EngineErrorCode =
  | 'bad_request' // the caller's arguments are wrong
  | 'bad_model' // a model folder or file is missing, corrupt or inconsistent
  | 'unsupported' // well-formed, but outside what this engine runs
  | 'out_of_memory'
  | 'cancelled'
  | 'unavailable' // a backend cannot be loaded, or the engine is shutting down
  | 'internal';

/** The only error type that crosses a module boundary on purpose: one line that says what happened and what to do. */
export class EngineError extends Error {
  constructor(
    readonly code: EngineErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'EngineError';
  }
}

/** An abort that somebody asked for, not a failure. */
export function isCancelled(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'cancelled';
}

/** Marks the default branch of a closed union; a new member becomes a compile error at every switch. */
export function assertNever(value: never): never {
  throw new EngineError('internal', `unexpected value ${JSON.stringify(value)}`);
}
