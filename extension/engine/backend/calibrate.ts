/**
 * How far activations may be rounded is a matter of the model: most do not mind 8 bits, in some an error of half a
 * percent grows from layer to layer. So a model runs a few tokens with 16 bits, and then takes the cheapest setting whose
 * logits agree. That takes longer than reading a large model: it may be left for later, and the model has 16 bits until then.
 */
import type { Program } from '../core/program';
import { EngineError } from '../errors';
import type { ActivationBits, CompileOptions, Executable, StepBatch } from './backend';
import { lowestCosine } from './cosine';

interface Adjustable extends Executable {
  /** Not while a step runs. */
  setActivations(bits: ActivationBits): void;
}

export const EXACT: ActivationBits = { attention: 16, others: 16 };
/** Queries and keys first: in all models seen to need more, they cause most of the error. */
const CHEAPER: readonly ActivationBits[] = [
  { attention: 8, others: 8 },
  { attention: 16, others: 8 },
];
/**
 * Of the logits of every token. Half of what `anllm verify` allows: these are only some tokens. The built-in model has
 * 0.9997, models whose greedy answers change have less than 0.9992.
 */
const MIN_COSINE = 0.9995;
/** Rows of logits are compared for all of them, if the executable gives so many. */
export const PROBE_TOKENS = 24;
/** A token whose experts change is rare and all wrong, so it takes more of them to see one. */
const ROUTED_PROBES = 4;

/**
 * Sets the activations of an executable that nobody uses yet; returns what was chosen. The key/value pool holds garbage
 * afterwards.
 */
export async function calibrated(
  executable: Adjustable,
  program: Program,
  options: CompileOptions,
  kvBlockSize: number,
): Promise<ActivationBits> {
  const { vocabSize, instructions } = program;
  const routes = instructions.some(({ op }) => op === 'moe_route');
  const batches = Array.from({ length: routes ? ROUTED_PROBES : 1 }, (_, i) =>
    probe(program, options, kvBlockSize, i * PROBE_TOKENS),
  );
  executable.setActivations(EXACT);
  const step = (batch: StepBatch) =>
    cancellable(executable, options.signal, () => executable.step(batch));
  const expected: Float32Array[] = [];
  for (const batch of batches) expected.push(await step(batch));
  const agrees = async (bits: ActivationBits) => {
    executable.setActivations(bits);
    for (const [i, batch] of batches.entries()) {
      const got = await step(batch);
      if (!(lowestCosine(got, expected[i] ?? got, vocabSize) >= MIN_COSINE)) return false;
    }
    return true;
  };
  for (const bits of CHEAPER) if (await agrees(bits)) return bits;
  executable.setActivations(EXACT);
  return EXACT;
}

/** Runs `step`, which `signal` ends at the next instruction. */
async function cancellable<T>(
  executable: Executable,
  signal: AbortSignal | undefined,
  step: () => Promise<T>,
): Promise<T> {
  if (signal?.aborted === true) throw new EngineError('cancelled', 'the probe was cancelled');
  const cancel = () => executable.cancel();
  signal?.addEventListener('abort', cancel);
  try {
    return await step();
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** Tokens from all over the vocabulary, the same in every run, as one sequence. */
function probe(
  { vocabSize, contextLength }: Program,
  { maxTokens, maxLogitRows, kvBlocks }: CompileOptions,
  kvBlockSize: number,
  seed: number,
): StepBatch {
  const count = Math.min(PROBE_TOKENS, maxTokens, kvBlocks * kvBlockSize, contextLength);
  const rows = Math.min(maxLogitRows, count);
  const blocks = Math.ceil(count / kvBlockSize);
  // Knuth's multiplicative hash spreads consecutive numbers.
  const token = (i: number) => (Math.imul(seed + i + 1, 2_654_435_761) >>> 0) % vocabSize;
  return {
    tokens: Int32Array.from({ length: count }, (_, i) => token(i)),
    positions: Int32Array.from({ length: count }, (_, i) => i),
    offsets: Int32Array.of(0, count),
    blockTables: Int32Array.from({ length: blocks }, (_, i) => i),
    blocksPerSequence: blocks,
    // Of the first tokens too: they have the largest activations.
    logitRows: Int32Array.from({ length: rows }, (_, i) => Math.floor((i * count) / rows)),
    stateSlots: Int32Array.of(0),
  };
}

/** Changes with the rules of this module, so that old choices are made again. */
const RULES = 3;
const SETTINGS = new Map([...CHEAPER, EXACT].map((bits) => [formatBits(bits), bits]));

export function formatBits({ attention, others }: ActivationBits): string {
  return `activations ${RULES}: ${attention} ${others}`;
}

/** Null for everything else than what `formatBits` gives. */
export function parseBits(line: string): ActivationBits | null {
  return SETTINGS.get(line) ?? null;
}
