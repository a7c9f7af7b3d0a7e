import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Host } from '../host';
import { askOnce } from './ask_once';
import { cleanMessage, cutDiff } from './commit_text';

/** Of the built-in git extension's API, version 1, what is used here. */
interface Repository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  diff(cached: boolean): Promise<string>;
}
interface GitApi {
  readonly repositories: readonly Repository[];
}
interface GitExtension {
  getAPI(version: 1): GitApi;
}

/** A message longer than this is no message. */
const MAX_TOKENS = 200;
const INSTRUCTIONS =
  'You write commit messages. Answer with the message alone: a first line of at most 72 characters in the ' +
  'imperative mood that says what the change does, and, only where it helps, an empty line and why.';

/** Writes a message for the staged changes, or for all when none is staged, into the source control view. */
export async function writeCommitMessage({ engine }: Host, argument: unknown): Promise<void> {
  const repository = await repositoryOf(argument);
  const staged = await repository.diff(true);
  const diff = staged.trim() === '' ? await repository.diff(false) : staged;
  if (diff.trim() === '') throw new Error(l10n.t('there are no changes to describe.'));
  const messages = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: `The changes:\n\n${cutDiff(diff)}\n\nThe commit message:` },
  ] as const;
  const { inputBox } = repository;
  const draft = inputBox.value;
  let isWritten = false;
  try {
    const { finish } = await askOnce(engine, {
      title: l10n.t('anllm: writing the commit message'),
      messages,
      temperature: 0.2,
      maxTokens: MAX_TOKENS,
      controller: new AbortController(),
      onText: (text) => {
        inputBox.value = cleanMessage(text);
      },
    });
    isWritten = finish !== 'cancelled';
  } finally {
    if (!isWritten) inputBox.value = draft;
  }
}

/** The source control view gives its own repository; the palette gives none: then it is that of the file in the editor. */
async function repositoryOf(argument: unknown): Promise<Repository> {
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  const api = (await extension?.activate())?.getAPI(1);
  const root =
    typeof argument === 'object' && argument !== null && 'rootUri' in argument
      ? argument.rootUri
      : undefined;
  const repositories = api?.repositories ?? [];
  const path = vscode.window.activeTextEditor?.document.uri.path ?? '';
  const [around] = repositories
    .filter(({ rootUri }) => path.startsWith(`${rootUri.path}/`))
    .toSorted((a, b) => b.rootUri.path.length - a.rootUri.path.length);
  const repository =
    repositories.find(({ rootUri }) => rootUri.toString() === String(root)) ??
    around ??
    repositories[0];
  if (!repository) throw new Error(l10n.t('no git repository is open.'));
  return repository;
}
