/** Where completions are offered. Never in input boxes, output, diffs of history or the chat's own editor. */
export const SCHEMES = [
  'file',
  'untitled',
  'vscode-notebook-cell',
  'vscode-remote',
  'vscode-vfs',
] as const;

export type SkipReason =
  | 'disabled'
  | 'language_disabled'
  | 'snoozed'
  | 'scheme'
  | 'secret_file'
  | 'several_cursors'
  | 'selection'
  | 'inside_word';

export interface TriggerContext {
  readonly enabled: boolean;
  readonly languageEnabled: boolean;
  readonly snoozed: boolean;
  readonly scheme: string;
  /** Text of this file would leave the computer, and its name says that it should not. */
  readonly leaksSecrets: boolean;
  /** The user asked for it: the place of the cursor is then no obstacle. */
  readonly invoked: boolean;
  readonly cursors: number;
  readonly hasSelection: boolean;
  readonly lineAfter: string;
  /** An item of the suggest widget is selected; the cursor then stands where the item would end. */
  readonly popup: boolean;
}

/** Why no suggestion is even tried, or null. */
export function whySkip(context: TriggerContext): SkipReason | null {
  if (!context.enabled) return 'disabled';
  if (!context.languageEnabled) return 'language_disabled';
  if (context.snoozed) return 'snoozed';
  if (!SCHEMES.some((scheme) => scheme === context.scheme)) return 'scheme';
  if (context.leaksSecrets) return 'secret_file';
  if (context.cursors > 1) return 'several_cursors';
  if (context.hasSelection) return 'selection';
  if (!context.invoked && !context.popup && /^[\p{L}\p{N}_]/u.test(context.lineAfter)) {
    return 'inside_word';
  }
  return null;
}
