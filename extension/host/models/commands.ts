import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { CommandId } from '../command_ids';
import type { Host } from '../host';
import { importModel } from './import_command';
import { sourceTitle } from './library';
import { showNetwork } from './network_document';
import { isInstalledModel, isRecommendation, isUnfinished } from './tree_nodes';

type ModelCommand = Extract<CommandId, `anllm.models.${string}`>;

export const MODEL_COMMANDS: Readonly<
  Record<ModelCommand, (host: Host, argument: unknown) => Promise<void>>
> = {
  'anllm.models.download': download,
  'anllm.models.resume': async (host, argument) => {
    if (!isUnfinished(argument)) return;
    await (await downloading()).downloadPlan(host, argument.plan);
  },
  'anllm.models.pause': async ({ models }, argument) => {
    if (isUnfinished(argument)) (await models.get()).library.downloads.pause(argument.plan);
  },
  'anllm.models.discard': discard,
  'anllm.models.import': importModel,
  'anllm.models.refresh': async ({ models }) => (await models.get()).library.tellChange(),
  'anllm.models.useForChat': useForChat,
  'anllm.models.useForCompletion': useForCompletion,
  'anllm.models.reveal': async (_host, model) => {
    if (!isInstalledModel(model)) return;
    await vscode.commands.executeCommand('revealFileInOS', vscode.Uri.file(model.path));
  },
  'anllm.models.remove': remove,
  'anllm.models.setToken': setToken,
  'anllm.models.showNetwork': () => showNetwork(),
};

/** The hub's client is loaded when it is needed, not at activation. */
const downloading = () => import('./download_command');

/** From the view with what it recommends, else with a question. */
async function download(host: Host, argument: unknown): Promise<void> {
  const { downloadModel, downloadRecommended } = await downloading();
  if (isRecommendation(argument)) await downloadRecommended(host, argument);
  else await downloadModel(host);
}

async function useForChat({ configuration }: Host, model: unknown): Promise<void> {
  if (isInstalledModel(model)) await configuration.setChatModel(model.path);
}

/** The built-in model is used when no path is set. */
async function useForCompletion({ configuration }: Host, model: unknown): Promise<void> {
  if (!isInstalledModel(model)) return;
  await configuration.setModel(model.source === 'embedded' ? '' : model.path);
}

async function remove({ models, configuration }: Host, model: unknown): Promise<void> {
  if (!isInstalledModel(model)) return;
  const { library } = await models.get();
  if (!library.store.owns(model.path)) {
    throw new Error(
      l10n.t('{name} is not anllm’s to delete: {source} keeps it, at {path}', {
        name: model.name,
        source: sourceTitle(model.source),
        path: model.path,
      }),
    );
  }
  const { modelDir, chatModelDir } = configuration.current.engine;
  const isUsed = [modelDir, chatModelDir].includes(model.path);
  const confirm = l10n.t('Delete');
  const choice = await vscode.window.showWarningMessage(
    l10n.t('Delete {name} from this computer?', { name: model.name }),
    {
      modal: true,
      detail: isUsed ? l10n.t('It is in use. {path}', { path: model.path }) : model.path,
    },
    confirm,
  );
  if (choice !== confirm) return;
  if (chatModelDir === model.path) await configuration.setChatModel('');
  if (modelDir === model.path) await configuration.setModel('');
  await library.store.remove(model.path);
  library.tellChange();
}

async function discard({ models }: Host, argument: unknown): Promise<void> {
  if (!isUnfinished(argument)) return;
  const { library } = await models.get();
  const { plan } = argument;
  const confirm = l10n.t('Give Up');
  const choice = await vscode.window.showWarningMessage(
    l10n.t('Give up the download of {name}?', { name: plan.name }),
    { modal: true, detail: l10n.t('What has come of it is deleted.') },
    confirm,
  );
  if (choice !== confirm || library.downloads.isRunning(plan)) return;
  await library.store.discard(plan);
  library.tellChange();
}

/** Kept by VS Code where passwords are kept; empty forgets it. */
async function setToken({ models }: Host): Promise<void> {
  const { hub } = (await models.get()).library;
  const token = await vscode.window.showInputBox({
    title: l10n.t('Token of {host}', { host: hub.host }),
    prompt: l10n.t('For gated and private models of this hub alone; empty forgets it'),
    password: true,
    ignoreFocusOut: true,
  });
  if (token !== undefined) await hub.setToken(token.trim());
}
