import * as vscode from 'vscode';
import type { Host } from '../host';
import { SOURCE_TITLES, sizeLine, type ModelLibrary } from '../models/library';

interface Choice extends vscode.QuickPickItem {
  /** The new path; '' = none; undefined when the user gave up. */
  readonly path: () => Promise<string | undefined>;
}

/** Asks for the chat model and writes it to the user's settings. */
export async function chooseModel({ configuration, models }: Host): Promise<void> {
  const { library } = await models.get();
  const { chatModelDir, modelDir } = configuration.current.engine;
  const choices: Choice[] = [
    ...(await installedChoices(library)),
    {
      label: '$(cloud-download) Download a model…',
      path: async () => void (await vscode.commands.executeCommand('anllm.models.download')),
    },
    separator('Elsewhere on this computer'),
    {
      label: '$(folder) A model folder…',
      detail: 'Hugging Face format: config.json, tokenizer.json, *.safetensors',
      path: () => openDialog({ canSelectFolders: true, canSelectFiles: false }),
    },
    {
      label: '$(file-binary) A .gguf file…',
      path: () => openDialog({ filters: { 'GGUF model': ['gguf'] } }),
    },
  ];
  if (modelDir !== chatModelDir && !configuration.hasBuiltInModel) {
    choices.push({
      label: '$(sparkle) The completion model',
      detail: `${modelDir}: one model in memory for both`,
      path: async () => modelDir,
    });
  }
  if (chatModelDir !== '') {
    choices.push({ label: '$(circle-slash) No chat model', path: async () => '' });
  }
  const placeHolder =
    chatModelDir === '' ? 'An instruct model on this computer' : `Now: ${chatModelDir}`;
  const choice = await vscode.window.showQuickPick(choices, { title: 'Chat model', placeHolder });
  const path = await choice?.path();
  if (path !== undefined) await configuration.setChatModel(path);
}

/** What other programs keep: runnable first, the others with the reason. The built-in model cannot chat. */
async function installedChoices(library: ModelLibrary): Promise<Choice[]> {
  const all = (await library.list()).filter(({ source }) => source !== 'embedded');
  const runs = all.filter(({ unsupported }) => unsupported === null);
  if (runs.length === 0) return [];
  return [
    separator('Found on this computer'),
    ...runs.map((model) => ({
      label: model.name,
      description: sizeLine(model),
      detail: `${SOURCE_TITLES[model.source]}: ${model.path}`,
      path: async () => model.path,
    })),
  ];
}

function separator(label: string): Choice {
  return { label, kind: vscode.QuickPickItemKind.Separator, path: async () => undefined };
}

async function openDialog(options: vscode.OpenDialogOptions): Promise<string | undefined> {
  const title = 'Choose the chat model';
  const [uri] = (await vscode.window.showOpenDialog({ ...options, title })) ?? [];
  return uri?.fsPath;
}
