import { basename } from 'node:path';
import type { ModelState } from '../../protocol/chat_view';
import { assertNever } from '../../protocol/errors';
import type { SupervisedStatus } from '../engine/supervisor';

/** The chat model as the view shows it; `modelDir` is the setting, '' without one. */
export function modelState(modelDir: string, status: SupervisedStatus): ModelState {
  const title = basename(modelDir).replace(/\.gguf$/i, '');
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
      return state('resting', `${modelDir}: loaded with the first question`);
    case 'loading':
      return state('loading', `Loading: ${status.message}`);
    case 'ready':
    case 'generating': {
      const { engine } = status;
      const slow = engine.fallbackReason === null ? '' : `. Slow: ${engine.fallbackReason}`;
      return {
        state: 'ready',
        title: engine.title,
        detail: `${engine.backendDescription}${slow}`,
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
