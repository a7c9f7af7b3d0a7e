/** A place where the built-in model has something to say; █ is the cursor. */
import * as l10n from '@vscode/l10n';
export const sample =
  (): string => `// ${l10n.t('The grey text is a suggestion. Tab takes it, Escape declines it, Ctrl+Right (Cmd+Right) takes one word.')}

export function add(a: number, b: number): number {
  return a + b;
}

export function subtract(a: number, b: number): number {
  █
}
`;
