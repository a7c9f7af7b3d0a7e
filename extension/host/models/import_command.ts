import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Host } from '../host';

const FILE = { label: '$(file-binary) A GGUF file…', isFile: true };
const FOLDER = {
  label: '$(folder) A folder…',
  detail: 'Hugging Face or MLX format: config.json, tokenizer.json, *.safetensors',
  isFile: false,
};

/** Uses a model that is somewhere on this computer, where it is: nothing is copied. */
export async function importModel({ configuration, models }: Host): Promise<void> {
  const kind = await vscode.window.showQuickPick([FILE, FOLDER], {
    title: 'Use a model of this computer',
    placeHolder: 'It stays where it is',
  });
  if (!kind) return;
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: 'Choose the model',
      canSelectFiles: kind.isFile,
      canSelectFolders: !kind.isFile,
      ...(kind.isFile && { filters: { 'GGUF model': ['gguf'] } }),
    })) ?? [];
  if (!uri) return;
  const path = uri.fsPath;
  const { library } = await models.get();
  const { unsupported } = await library.engine.inspectModel(path);
  if (unsupported !== null) throw new Error(`${basename(path)} does not run: ${unsupported}`);
  const [completion, chat] = ['Completion', 'Chat'] as const;
  const roles = await vscode.window.showQuickPick(
    [
      { label: completion, detail: 'Ghost text; wants a model that knows fill-in-the-middle' },
      { label: chat, detail: 'Wants an instruct model' },
    ],
    { title: `Use ${basename(path)} for`, canPickMany: true },
  );
  for (const { label } of roles ?? []) {
    await (label === chat ? configuration.setChatModel(path) : configuration.setModel(path));
  }
}
