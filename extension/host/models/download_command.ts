import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { number } from '../../protocol/numbers';
import type { Host } from '../host';
import type { Running } from './downloads';
import type { ModelLibrary } from './library';
import { askHit, askVariant, askWish, type Wish } from './pick_model';
import type { Recommendation } from './recommend';
import { FOLDER, readRepository, variantsOf, type RemoteModel, type Variant } from './repository';
import { showBytes, showSpeed } from './sizes';
import type { Plan } from './store';

/** Asks for a model and what of it, downloads it, and offers to use it. A cancelled download goes on the next time. */
export async function downloadModel(host: Host): Promise<void> {
  const { library } = await host.models.get();
  const wish = await askWish(library);
  const plan = wish && (await planFor(library, wish));
  if (plan) await downloadPlan(host, plan);
}

/** What the view offers, without further questions. */
export async function downloadRecommended(host: Host, offer: Recommendation): Promise<void> {
  const { library } = await host.models.get();
  const plan = await planFor(library, { kind: 'recommended', recommendation: offer });
  if (plan) await downloadPlan(host, plan);
}

/** Downloads, or goes on with a paused download, and offers to use the model. */
export async function downloadPlan(host: Host, plan: Plan): Promise<void> {
  const { library } = await host.models.get();
  const path = await withNotification(library, plan);
  library.tellChange();
  if (path !== null) await offer(host, plan.name, path);
}

async function planFor(library: ModelLibrary, wish: Wish): Promise<Plan | undefined> {
  switch (wish.kind) {
    case 'resume':
      return wish.unfinished.plan;
    case 'search': {
      const name = await askHit(wish.words, library);
      return name === undefined ? undefined : planFor(library, { kind: 'repository', name });
    }
    case 'repository': {
      const [model, variants] = await look(library, wish.name);
      const variant = await askVariant(model, variants);
      return variant && planOf(model, variant);
    }
    case 'recommended': {
      const { repository, file } = wish.recommendation.source;
      const [model, variants] = await look(library, repository);
      const wanted = file ?? FOLDER;
      const variant = variants.find(({ label }) => label.toLowerCase() === wanted.toLowerCase());
      // The repository may have changed since.
      const chosen = variant ?? (await askVariant(model, variants));
      return chosen && planOf(model, chosen);
    }
  }
}

function planOf({ name, revision }: RemoteModel, { label, files }: Variant): Plan {
  return { name, revision, label, files };
}

async function look(library: ModelLibrary, name: string): Promise<[RemoteModel, Variant[]]> {
  const location = vscode.ProgressLocation.Notification;
  const model = await vscode.window.withProgress(
    { location, title: l10n.t('anllm: looking for {name}', { name }) },
    async () => readRepository(name, await library.hub.open(l10n.t('files of {name}', { name }))),
  );
  const variants = variantsOf(model);
  if (variants.length === 0) {
    throw new Error(l10n.t('{name} has neither safetensors nor GGUF files.', { name }));
  }
  return [model, variants];
}

/** @returns the path of the model, or null when the user paused the download */
async function withNotification(library: ModelLibrary, plan: Plan): Promise<string | null> {
  const location = vscode.ProgressLocation.Notification;
  const title = l10n.t('anllm: downloading {name}', { name: plan.name });
  const path = await vscode.window.withProgress(
    { location, title, cancellable: true },
    (progress, token) => {
      token.onCancellationRequested(() => library.downloads.pause(plan));
      let shown = 0;
      return library.downloads.run(plan, (running) => {
        const { doneBytes, totalBytes } = running.progress;
        const percent = (100 * doneBytes) / Math.max(totalBytes, 1);
        if (percent - shown < 0.5 && percent < 100) return;
        progress.report({ increment: percent - shown, message: messageOf(running, percent) });
        shown = percent;
      });
    },
  );
  if (path === null) {
    void vscode.window.showInformationMessage(
      l10n.t(
        'anllm: the download of {name} is paused; “Download Model” or the Models view goes on with it.',
        { name: plan.name },
      ),
    );
  }
  return path;
}

function messageOf({ progress, speed }: Running, percent: number): string {
  return l10n.t('{percent} % of {total}, {speed}', {
    percent: number(percent),
    total: showBytes(progress.totalBytes),
    speed: showSpeed(speed),
  });
}

async function offer({ configuration }: Host, name: string, path: string): Promise<void> {
  const chat = l10n.t('Use for chat');
  const completion = l10n.t('Use for completion');
  const choice = await vscode.window.showInformationMessage(
    l10n.t('anllm: {name} is on this computer.', { name }),
    chat,
    completion,
  );
  if (choice === chat) await configuration.setChatModel(path);
  if (choice === completion) await configuration.setModel(path);
}
