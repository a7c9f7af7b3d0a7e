/** Puts texts of the display language back into English: errors are shown in the one and logged in the other. */

interface Template {
  readonly english: string;
  /** What stands between the placeholders of the translation. */
  readonly literals: readonly string[];
  /** The placeholders' names, in the translation's order. */
  readonly names: readonly string[];
  readonly pattern: RegExp;
  readonly letters: number;
}

const PLACEHOLDER = /\{(\w+)\}/g;
/** A text with fewer characters of its own, such as `{0} s`, is found everywhere. */
const MIN_LETTERS = 8;
/** Errors are shorter; patterns with several placeholders take long in long texts. */
const MAX_LENGTH = 2000;

/** `texts`: of the display language, each by the English one; the format of `vscode.l10n.bundle`. */
export function toEnglish(texts: Readonly<Record<string, string>>): (text: string) => string {
  const templates = Object.entries(texts)
    .map(([english, translated]) => templateOf(english, translated))
    .filter(({ letters }) => letters >= MIN_LETTERS)
    .sort((a, b) => b.letters - a.letters);
  return (text) =>
    text.length > MAX_LENGTH ? text : templates.reduce((rest, each) => replaced(rest, each), text);
}

function templateOf(english: string, translated: string): Template {
  const parts = translated.split(PLACEHOLDER);
  const literals = parts.filter((_, index) => index % 2 === 0);
  const [first = '', ...others] = literals.map((part) =>
    part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
  );
  // A placeholder at the beginning or the end takes all that is there.
  const rest = others.map((literal) => (literal === '' ? '(.*)' : `(.*?)${literal}`));
  return {
    english,
    literals,
    names: parts.filter((_, index) => index % 2 === 1),
    pattern: new RegExp(`${first === '' ? '^' : first}${rest.join('')}`, 's'),
    letters: literals.join('').length,
  };
}

function replaced(text: string, { english, literals, names, pattern }: Template): string {
  if (!literals.every((literal) => text.includes(literal))) return text;
  return text.replace(pattern, (_, ...groups: string[]) =>
    english.replace(PLACEHOLDER, (placeholder, name: string) => {
      const index = names.indexOf(name);
      return index < 0 ? placeholder : (groups[index] ?? '');
    }),
  );
}
