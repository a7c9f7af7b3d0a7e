/** Tools for whatever model VS Code's chat runs. */
import * as vscode from 'vscode';
import { DisposableStore, type Disposable } from '../lifecycle';
import type { ProblemsInput, SearchInput } from './tool_calls';

/** In the order of package.json. */
export const TOOL_NAMES = ['anllm_search_code', 'anllm_problems'] as const;

export function registerTools(): Disposable {
  const store = new DisposableStore();
  const [search, problems] = TOOL_NAMES;
  const calls = () => import('./tool_calls');
  store.add(
    vscode.lm.registerTool<SearchInput>(search, {
      invoke: async (options, token) => (await calls()).searchCode(options, token),
    }),
  );
  store.add(
    vscode.lm.registerTool<ProblemsInput>(problems, {
      invoke: async (options) => (await calls()).listProblems(options),
    }),
  );
  return store;
}
