import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Host } from '../host';
import { sizeLine, sourceTitle, type ModelLibrary } from '../models/library';

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
      label: `$(cloud-download) ${l10n.t('Download a model…')}`,
      detail: l10n.t('What suits this computer, with size and licence'),
      path: async () => void (await vscode.commands.executeCommand('anllm.models.download')),
    },
    separator(l10n.t('Elsewhere on this computer')),
    {
      label: `$(folder) ${l10n.t('A model folder…')}`,
      detail: l10n.t('Hugging Face format: config.json, tokenizer.json, *.safetensors'),
      path: () => openDialog({ canSelectFolders: true, canSelectFiles: false }),
    },
    {
      label: `$(file-binary) ${l10n.t('A .gguf file…')}`,
      path: () => openDialog({ filters: { [l10n.t('GGUF model')]: ['gguf'] } }),
    },
  ];
  if (modelDir !== chatModelDir && !configuration.hasBuiltInModel) {
    choices.push({
      label: `$(sparkle) ${l10n.t('The completion model')}`,
      detail: l10n.t('{modelDir}: one model in memory for both', { modelDir }),
      path: async () => modelDir,
    });
  }
  if (chatModelDir !== '') {
    choices.push({ label: `$(circle-slash) ${l10n.t('No chat model')}`, path: async () => '' });
  }
  const placeHolder =
    chatModelDir === ''
      ? l10n.t('An instruct model on this computer')
      : l10n.t('Now: {model}', { model: chatModelDir });
  const title = l10n.t('Chat model');
  const choice = await vscode.window.showQuickPick(choices, { title, placeHolder });
  const path = await choice?.path();
  if (path !== undefined) await configuration.setChatModel(path);
}

/** What other programs keep: runnable first, the others with the reason. The built-in model cannot chat. */
async function installedChoices(library: ModelLibrary): Promise<Choice[]> {
  const all = (await library.list()).filter(({ source }) => source !== 'embedded');
  const runs = all.filter(({ unsupported }) => unsupported === null);
  if (runs.length === 0) return [];
  return [
    separator(l10n.t('Found on this computer')),
    ...runs.map((model) => ({
      label: model.name,
      description: sizeLine(model),
      detail: `${sourceTitle(model.source)}: ${model.path}`,
      path: async () => model.path,
    })),
  ];
}

function separator(label: string): Choice {
  return { label, kind: vscode.QuickPickItemKind.Separator, path: async () => undefined };
}

async function openDialog(options: vscode.OpenDialogOptions): Promise<string | undefined> {
  const title = l10n.t('Choose the chat model');
  const [uri] = (await vscode.window.showOpenDialog({ ...options, title })) ?? [];
  return uri?.fsPath;
}
