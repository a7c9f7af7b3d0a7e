import type { Backend, CompileOptions, OpenCalibration } from './backend/backend';
import { EXACT, PROBE_TOKENS } from './backend/calibrate';
import type { Program } from './core/program';
import { EngineError } from './errors';
import type { IdleWork } from './generation/idle_work';
import { openModel } from './loading/open_model';

/** Nobody has asked for anything in so long, and whoever comes next ends it at once. */
const IDLE_MS = 5000;

/** `signal`: something is asked for. */
export type Calibrate = (signal: AbortSignal) => Promise<void>;

/**
 * Finds out, while nothing runs, how far activations may be rounded, for the next load of the model: the answers of this one
 * stay as they are.
 */
export class LaterCalibration implements IdleWork {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | null = null;
  private abort = new AbortController();
  private isDone = false;

  constructor(
    private readonly calibrate: Calibrate,
    private readonly isReady: () => boolean,
    private readonly idleMs = IDLE_MS,
  ) {}

  wake(): void {
    clearTimeout(this.timer);
    this.abort.abort();
  }

  rest(): void {
    clearTimeout(this.timer);
    if (this.isDone) return;
    this.timer = setTimeout(() => {
      if (this.running === null && this.isReady()) this.start();
      else this.rest();
    }, this.idleMs);
    this.timer.unref();
  }

  async close(): Promise<void> {
    this.isDone = true;
    this.wake();
    await this.running;
  }

  private start(): void {
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.running = this.calibrate(signal)
      // What fails but for an abort would fail again; the next load finds it out then.
      .then(
        () => (this.isDone = true),
        () => (this.isDone ||= !signal.aborted),
      )
      .then(() => {
        this.running = null;
      });
  }
}

/** A model as it was compiled. */
interface CompiledModel {
  readonly path: string;
  readonly program: Program;
  readonly backend: Backend;
  readonly options: CompileOptions;
}

/**
 * Null where nothing is open. `onFaster`: the next load of the model will compute with
 * fewer bits than this one.
 */
export function laterCalibration(
  { path, program, backend, options }: CompiledModel,
  open: OpenCalibration | undefined,
  onFaster: () => void = () => {},
): LaterCalibration | null {
  if (open === undefined) return null;
  const calibrate: Calibrate = async (signal) => {
    const model = openModel(path);
    try {
      const executable = await backend.compile(program, model.weights, {
        ...options,
        calibration: 'now',
        signal,
        // One, so that whoever comes finds the others free.
        threads: 1,
        kvBlocks: Math.ceil(PROBE_TOKENS / backend.kvBlockSize),
        maxTokens: Math.max(PROBE_TOKENS, options.maxLogitRows),
        ...(options.stateSlots !== undefined && { stateSlots: 1 }),
      });
      const bits = executable.activationBits ?? EXACT;
      executable.dispose();
      if (bits.attention < EXACT.attention || bits.others < EXACT.others) onFaster();
    } catch (error) {
      if (signal.aborted) throw new EngineError('cancelled', 'something else is to be done');
      throw error;
    } finally {
      model.close();
    }
  };
  return new LaterCalibration(calibrate, () => open.isPacked());
}
