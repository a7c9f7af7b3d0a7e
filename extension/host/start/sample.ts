/** A place where the built-in model has something to say; █ is the cursor. */
export const SAMPLE = `// The grey text is a suggestion. Tab takes it, Escape declines it, Ctrl+Right (Cmd+Right) takes one word.

export function add(a: number, b: number): number {
  return a + b;
}

export function subtract(a: number, b: number): number {
  █
}
`;
