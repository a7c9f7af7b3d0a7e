import * as l10n from '@vscode/l10n';
import type { ModelState } from '../../protocol/chat_view';
import type { EngineSummary } from '../../protocol/engine';
import { assertNever } from '../../protocol/errors';
import type { SupervisedStatus } from '../engine/supervisor';
import { modelTitle } from './model_title';

/** The chat model as the view shows it; `modelDir` is the setting, '' without one. */
export function modelState(modelDir: string, status: SupervisedStatus): ModelState {
  const title = modelTitle(modelDir) ?? l10n.t('Ollama model');
  const state = (name: ModelState['state'], detail: string): ModelState => ({
    state: name,
    title,
    detail,
    contextLength: 0,
  });
  if (modelDir === '') return state('none', '');
  switch (status.state) {
    case 'stopped':
    case 'idle':
      return state('resting', l10n.t('{modelDir}: loaded with the first question', { modelDir }));
    case 'loading':
      return state('loading', l10n.t('Loading: {message}', { message: status.message }));
    case 'ready':
    case 'generating': {
      const { engine } = status;
      return {
        state: 'ready',
        title: engine.title,
        detail: detailOf(status.engine),
        contextLength: engine.contextLength,
      };
    }
    case 'failed':
    case 'crashed':
      return state('failed', status.message);
    default:
      return assertNever(status);
  }
}

function detailOf({ backendDescription, fallbackReason }: EngineSummary): string {
  if (fallbackReason === null) return backendDescription;
  const args = { backend: backendDescription, reason: fallbackReason };
  return l10n.t('{backend}. Slow: {reason}', args);
}
