import * as vscode from 'vscode';
import { ACCEPTED_COMMAND, COMMAND_IDS } from './command_ids';
import type { Host } from './host';
import { DisposableStore, type Disposable } from './lifecycle';
import { completionAccepted } from './start/walkthrough';

export function registerCommands(host: Host): Disposable {
  const store = new DisposableStore();
  for (const id of COMMAND_IDS) {
    const command = async (argument: unknown, all: unknown): Promise<void> => {
      try {
        const { COMMANDS } = await import('./command_table');
        await COMMANDS[id](host, argument, all);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        host.log.write({ level: 'error', message: `${id}: ${message}` });
        void vscode.window.showErrorMessage(`anllm: ${message}`);
      }
    };
    store.add(vscode.commands.registerCommand(id, command));
  }
  store.add(
    vscode.commands.registerCommand(ACCEPTED_COMMAND, (id: unknown) => {
      host.completions.accepted(typeof id === 'number' ? id : null);
      completionAccepted();
    }),
  );
  return store;
}
