/** What the names of GGUF files say of how much the weights were rounded. */
import * as l10n from '@vscode/l10n';
import type { Variant } from './repository';

/** Pattern of names, bits of a weight, about, and what that does. */
type Gist = readonly [RegExp, number, () => string];

const GISTS: readonly Gist[] = [
  [/\b(BF16|F16|F32)\b/i, 16, () => l10n.t('not rounded')],
  [/\bQ8_0\b/i, 8, () => l10n.t('as good as the original')],
  [/\bQ6_K/i, 6, () => l10n.t('hardly worse than the original')],
  [/\bQ5_/i, 5, () => l10n.t('a little worse than the original')],
  [/\bMXFP4\b/i, 4, () => l10n.t('as its makers trained it')],
  [/\b(IQ4_|Q4_)/i, 4, () => l10n.t('the usual balance of size and quality')],
  [/\b(IQ3_|Q3_)/i, 3, () => l10n.t('clearly worse than the original')],
  [/\b(IQ2_|Q2_|IQ1_|TQ)/i, 2, () => l10n.t('much worse than the original')],
];

/** In a few words; '' when the name does not say. */
export function gist(label: string): string {
  return row(label)?.[2]() ?? '';
}

/** What to take when in doubt: of those that fit, the one with about four bits, else with more, else the largest with less. */
export function suggested(variants: readonly Variant[], budget: number): Variant | null {
  const fitting = variants.filter(({ sizeBytes }) => sizeBytes * 1.1 <= budget);
  const [only] = fitting;
  if (fitting.length <= 1) return only ?? null;
  return [...fitting].sort((a, b) => penalty(a) - penalty(b))[0] ?? null;
}

/** Names without a hint, such as a folder's, come last. Among equals the K-quantization of medium size. */
function penalty({ label }: Variant): number {
  const bits = row(label)?.[1];
  if (bits === undefined) return 100;
  const usual = /_K_M\b/i.test(label) ? 0 : 0.5;
  return (bits >= 4 ? bits - 4 : 20 - bits) + usual;
}

function row(label: string): Gist | undefined {
  // `_` is a letter to \b, and names separate with it or with a dot.
  const words = label.replaceAll(/[-.]/g, ' ');
  return GISTS.find(([pattern]) => pattern.test(words));
}
