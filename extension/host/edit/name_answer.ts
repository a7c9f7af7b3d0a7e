/** Names in an answer: one a line, in any of the ways that models list them. */

const MAX_NAMES = 8;
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** Identifiers other than the present one, each once, the first ones first. */
export function namesOf(answer: string, present: string): string[] {
  const words = answer
    .split('\n')
    .map((line) => /[\p{L}_$][\p{L}\p{N}_$]*/u.exec(line.replace(/^[\s\d.)*`-]+/, ''))?.[0] ?? '')
    .filter((word) => NAME.test(word) && word !== present);
  return [...new Set(words)].slice(0, MAX_NAMES);
}
