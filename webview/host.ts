import type { FromView } from '../extension/protocol/chat_view';

interface VsCodeApi {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();

export const post = (message: FromView): void => api.postMessage(message);

/** What was typed and not sent survives the page: VS Code drops it when the view is hidden. */
export const draft = {
  load(): string {
    const state = api.getState();
    return typeof state === 'string' ? state : '';
  },
  save(text: string): void {
    api.setState(text);
  },
};
