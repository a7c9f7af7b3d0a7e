import * as l10n from '@vscode/l10n';
import type { InstalledModel, ModelSource } from '../../protocol/models';
import { assertNever } from '../../protocol/errors';
import type { EngineSupervisor } from '../engine/supervisor';
import { Emitter } from '../lifecycle';
import { CATALOGUE } from './catalogue';
import type { Downloads } from './downloads';
import type { HubAccess } from './hub';
import { thisMachine } from './machine';
import { recommend, type Recommendation } from './recommend';
import { showBytes } from './sizes';
import type { ModelStore } from './store';

/** Who keeps a model. */
export function sourceTitle(source: ModelSource): string {
  switch (source) {
    case 'embedded':
      return l10n.t('Built in');
    case 'path':
      return l10n.t('Chosen by path');
    case 'downloaded':
      return l10n.t('Downloaded by anllm');
    case 'hugging-face':
      return l10n.t('Hugging Face cache');
    case 'lm-studio':
      return 'LM Studio';
    case 'ollama':
      return 'Ollama';
    default:
      return assertNever(source);
  }
}

/** The models on this computer. */
export class ModelLibrary {
  private readonly changed = new Emitter<void>();
  readonly onChange = this.changed.event;

  constructor(
    readonly engine: EngineSupervisor,
    readonly store: ModelStore,
    readonly downloads: Downloads,
    readonly hub: HubAccess,
  ) {}

  /** Without what is only half there. */
  async list(): Promise<readonly InstalledModel[]> {
    const unfinished = await this.store.unfinished();
    const halves = new Set(unfinished.map(({ plan }) => this.store.pathOf(plan.name, plan)));
    const all = await this.engine.listModels(this.store.folder);
    return all.filter(({ path }) => !halves.has(path));
  }

  /** For this computer, without what is on it already. */
  recommended(installed: readonly InstalledModel[]): Recommendation[] {
    const names = installed.map(({ name }) => name.toLowerCase());
    return recommend(thisMachine(), CATALOGUE).filter(
      ({ source: { repository } }) =>
        !names.some((name) => name.startsWith(repository.toLowerCase())),
    );
  }

  /** To be called when files came or went. */
  tellChange(): void {
    this.changed.fire();
  }
}

/** `4-bit, 1.2 GB`; empty when nothing is known. */
export function sizeLine({ quantization, sizeBytes }: InstalledModel): string {
  if (sizeBytes === 0) return '';
  const size = showBytes(sizeBytes);
  return quantization === null ? size : `${quantization}, ${size}`;
}
