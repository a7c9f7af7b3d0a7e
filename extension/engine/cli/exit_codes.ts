import { EngineError, assertNever, type EngineErrorCode } from '../errors';

/** Exit codes of the command line, documented in docs/cli.md. */
export const EXIT = {
  ok: 0,
  /** A check was made and did not pass (verify). */
  failed: 1,
  /** Wrong arguments, or a model that is corrupt or not supported. */
  badInput: 2,
  /** Not enough memory, or a backend that cannot be loaded. */
  unavailable: 3,
  /** A defect of anllm (sysexits.h EX_SOFTWARE). */
  internal: 70,
  /** Interrupted by Ctrl+C. */
  interrupted: 130,
} as const;

export function exitCodeOf(error: unknown): number {
  return error instanceof EngineError ? exitCodeOfEngine(error.code) : EXIT.internal;
}

function exitCodeOfEngine(code: EngineErrorCode): number {
  switch (code) {
    case 'bad_request':
    case 'bad_model':
    case 'unsupported':
      return EXIT.badInput;
    case 'out_of_memory':
    case 'unavailable':
      return EXIT.unavailable;
    case 'cancelled':
      return EXIT.interrupted;
    case 'internal':
      return EXIT.internal;
    default:
      return assertNever(code);
  }
}
