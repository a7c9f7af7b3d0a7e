import type { BackendName } from '../backend/backend';
import type { Engine } from '../engine';
import type { EngineOptions } from '../engine_options';
import { loadEngine } from '../load_engine';
import { EngineError } from '../errors';
import { resolveModel } from '../loading/model_dir';
import type { OptionReader } from './options';
import { say } from './terminal';

const BACKENDS = ['auto', 'cpu', 'reference', 'metal'] as const satisfies readonly (
  BackendName | 'auto'
)[];

/** Megabytes. */
const MAX_SESSION_CACHE = 2 ** 20;

/** Engine options from the shared command-line options. */
export function engineOptions(values: OptionReader): EngineOptions {
  return engineOptionsFor(values, resolveModel(values.string('model')));
}

/** The same for a model that was found already. */
export function engineOptionsFor(values: OptionReader, modelDir: string): EngineOptions {
  const context = contextOf(values);
  const batchSize = values.integer('batch-size', 0, { min: 1, max: 64 });
  const prefillStep = values.integer('prefill-step', 0, { min: 2, max: 4096 });
  const sessionCache = values.integer('session-cache', 0, { min: 0, max: MAX_SESSION_CACHE });
  const draftModel = values.string('draft-model');
  return {
    modelDir,
    backend: values.oneOf('backend', BACKENDS, 'auto'),
    precision: values.oneOf('precision', ['fast', 'exact'], 'fast'),
    threads: values.integer('threads', 0, { min: 0, max: 256 }),
    features: {
      kernels: values.isOn('kernels'),
      decodeAttentionKernel: values.isOn('decode-attention-kernel'),
      forceDequantized: values.flag('force-dequantized'),
    },
    sessionCache,
    ...(draftModel !== undefined && { draftModelDir: resolveModel(draftModel) }),
    kvBits: values.oneOf('kv-bits', ['8', '16'], '16') === '8' ? 8 : 16,
    ...(context === 0 ? {} : { contextLength: context }),
    ...(batchSize === 0 ? {} : { batchSize }),
    ...(prefillStep === 0 ? {} : { prefillStep }),
  };
}

/** Both names of it; 0 = the default. */
function contextOf(values: OptionReader): number {
  const range = { min: 64, max: 2 ** 20 };
  const [context, same] = [
    values.integer('context', 0, range),
    values.integer('max-seq-len', 0, range),
  ];
  if (context === 0 || same === 0 || context === same) return context || same;
  throw new EngineError(
    'bad_request',
    `--context ${context} and --max-seq-len ${same} are the same thing: give one of them`,
  );
}

/** Loads an engine; warnings, now and while it runs, go to stderr. */
export async function loadWithWarnings(options: EngineOptions): Promise<Engine> {
  const warn = (message: string) => say(`warning: ${message}\n`);
  const engine = await loadEngine(options, { onWarning: warn });
  const { backend, fallbackReason } = engine.info;
  if (fallbackReason !== null) warn(`slower, on the ${backend} backend: ${fallbackReason}`);
  return engine;
}

/** Loads the engine that the options name, runs `use`, and disposes of it. Progress goes to stderr. `calibration`: see EngineOptions. */
export async function withEngine<T>(
  values: OptionReader,
  use: (engine: Engine) => Promise<T>,
  calibration?: EngineOptions['calibration'],
): Promise<T> {
  const options = engineOptions(values);
  const engine = await loadWithWarnings({ ...options, ...(calibration && { calibration }) });
  try {
    return await use(engine);
  } finally {
    await engine.dispose();
  }
}

/** Aborts at the first Ctrl+C, so that what was generated is still printed; the second one kills as usual. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
}

/** Prints one JSON object on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(JSON.stringify(value, null, 2) + '\n');
}
