import * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import type { Disposable } from '../lifecycle';
import { chatModelOf } from '../settings';

/**
 * Keeps the context keys that follow from the models of the settings: without a chat model the keys of edits are VS
 * Code's, and a model of one's own ticks its step of the walkthrough.
 */
export function watchModels(configuration: Configuration): Disposable {
  let told: boolean | null = null;
  const update = (): void => {
    const hasChatModel = chatModelOf(configuration.current.engine) !== '';
    if (hasChatModel !== told) setContext('anllm.hasChatModel', hasChatModel);
    told = hasChatModel;
    if (hasChatModel || !configuration.hasBuiltInModel) setContext('anllm.hasModel', true);
  };
  update();
  return configuration.onChange(update);
}

function setContext(key: string, value: boolean): void {
  void vscode.commands.executeCommand('setContext', key, value);
}
