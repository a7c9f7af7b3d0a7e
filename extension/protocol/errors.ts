/** Why a request failed, as it crosses the process border; the same words as the engine's error codes. */
export const ERROR_CODES = [
  'bad_request',
  'bad_model',
  'unsupported',
  'out_of_memory',
  'cancelled',
  'unavailable',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** A failed request, on either side: one line that says what happened and what to do. */
export class ProtocolError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
    this.name = 'ProtocolError';
  }
}

/** Marks the default branch of a closed union; a new member becomes a compile error at every switch. */
export function assertNever(value: never): never {
  throw new ProtocolError('internal', `unexpected value ${JSON.stringify(value)}`);
}
