import * as l10n from '@vscode/l10n';
import { TASKS, type CatalogueModel, type Source, type Task } from './catalogue';
import { modelBudget, type Machine } from './machine';

export interface Recommendation {
  readonly task: Task;
  readonly model: CatalogueModel;
  readonly source: Source;
  /** Weights, cache of CONTEXT_TOKENS tokens and what computing needs. */
  readonly memoryBytes: number;
  /** The first of its task. */
  readonly isBest: boolean;
  /** For people: why this one, on this computer. */
  readonly reason: string;
}

/** Tokens that a model is given by default. */
export const CONTEXT_TOKENS = 8192;
/** A completion that takes longer comes too late; an answer should come as quickly as one reads. */
const MIN_TOKENS_PER_SECOND: Readonly<Record<Task, number>> = { completion: 35, chat: 7 };
/** So much of the weights again for buffers and the program. */
const OVERHEAD = 1.1;
const PER_TASK = 3;

/**
 * The best models for a computer, best first, at most three for each task. The best chat model has room beside the best
 * completion model. Empty for a task when nothing fits.
 */
export function recommend(machine: Machine, models: readonly CatalogueModel[]): Recommendation[] {
  let budget = modelBudget(machine);
  return TASKS.flatMap((task) => {
    const fitting = models
      .flatMap((model) => candidate(task, model, machine, budget))
      .sort(byFreedomAndRank)
      .slice(0, PER_TASK)
      .map((found, index) => ({ ...found, isBest: index === 0 }));
    budget -= fitting[0]?.memoryBytes ?? 0;
    return fitting;
  });
}

function candidate(
  task: Task,
  model: CatalogueModel,
  machine: Machine,
  budget: number,
): Recommendation[] {
  const source = sourceFor(model, machine);
  if (!model.tasks.includes(task) || source === null) return [];
  const memoryBytes = memoryOf(model, source);
  const speed = tokensPerSecond(model, source, machine);
  if (memoryBytes > budget || speed < MIN_TOKENS_PER_SECOND[task]) return [];
  // The chat model needs its room too.
  if (task === 'completion' && memoryBytes > budget / 2) return [];
  return [
    {
      task,
      model,
      source,
      memoryBytes,
      isBest: false,
      reason: reasonFor(model, memoryBytes, machine),
    },
  ];
}

/** What not everybody may use is never the first. */
function byFreedomAndRank({ model: a }: Recommendation, { model: b }: Recommendation): number {
  return Number(a.nonCommercial) - Number(b.nonCommercial) || b.rank - a.rank;
}

/** Apple's GPU computes MLX formats only; elsewhere what is much smaller is read the quicker. */
export function sourceFor({ mlx, gguf }: CatalogueModel, { hasMetal }: Machine): Source | null {
  if (hasMetal) return mlx;
  if (mlx === null || gguf === null) return mlx ?? gguf;
  return mlx.sizeBytes * 1.25 < gguf.sizeBytes ? mlx : gguf;
}

export function memoryOf({ cache }: CatalogueModel, { sizeBytes }: Source): number {
  const perToken = cache.layers * cache.heads * cache.columns * 2 * 2;
  return sizeBytes * OVERHEAD + perToken * CONTEXT_TOKENS;
}

/** The most that reading the weights of each token from memory allows. */
function tokensPerSecond(
  { parameters, activeParameters }: CatalogueModel,
  { sizeBytes }: Source,
  { bandwidth }: Machine,
): number {
  return bandwidth / (sizeBytes * (activeParameters / parameters));
}

function reasonFor(model: CatalogueModel, memoryBytes: number, machine: Machine): string {
  const share = Math.max(1, Math.round((100 * memoryBytes) / machine.memoryBytes));
  const { activeParameters, parameters } = model;
  const sentences = [
    l10n.t({
      message: '{strength}; takes about {share} % of this computer’s memory.',
      args: { strength: upper(model.strength()), share },
      comment: 'strength: what is special about a model, such as “Quick on any computer”',
    }),
  ];
  if (activeParameters < parameters / 2) {
    sentences.push(
      l10n.t(
        'A token uses {activeParameters} of its {parameters} billion parameters, hence the speed.',
        { activeParameters, parameters },
      ),
    );
  }
  if (model.nonCommercial) sentences.push(l10n.t('Its licence is not for commercial use.'));
  return sentences.join(' ');
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
