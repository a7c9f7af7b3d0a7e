import { basename } from 'node:path';
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Host } from '../host';

const kinds = () => [
  { label: `$(file-binary) ${l10n.t('A GGUF file…')}`, isFile: true },
  {
    label: `$(folder) ${l10n.t('A folder…')}`,
    detail: l10n.t('Hugging Face or MLX format: config.json, tokenizer.json, *.safetensors'),
    isFile: false,
  },
];

/** Uses a model that is somewhere on this computer, where it is: nothing is copied. */
export async function importModel({ configuration, models }: Host): Promise<void> {
  const kind = await vscode.window.showQuickPick(kinds(), {
    title: l10n.t('Use a model of this computer'),
    placeHolder: l10n.t('It stays where it is'),
  });
  if (!kind) return;
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: l10n.t('Choose the model'),
      canSelectFiles: kind.isFile,
      canSelectFolders: !kind.isFile,
      ...(kind.isFile && { filters: { [l10n.t('GGUF model')]: ['gguf'] } }),
    })) ?? [];
  if (!uri) return;
  const path = uri.fsPath;
  const { library } = await models.get();
  const { unsupported } = await library.engine.inspectModel(path);
  if (unsupported !== null)
    throw new Error(
      l10n.t('{name} does not run: {problem}', { name: basename(path), problem: unsupported }),
    );
  const completion = l10n.t('Completion');
  const chat = l10n.t('Chat');
  const roles = await vscode.window.showQuickPick(
    [
      {
        label: completion,
        detail: l10n.t('Ghost text; wants a model that knows fill-in-the-middle'),
      },
      { label: chat, detail: l10n.t('Wants an instruct model') },
    ],
    { title: l10n.t('Use {name} for', { name: basename(path) }), canPickMany: true },
  );
  for (const { label } of roles ?? []) {
    await (label === chat ? configuration.setChatModel(path) : configuration.setModel(path));
  }
}
