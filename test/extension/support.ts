import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { TestApi } from '../../extension/host/main';
import { until } from '../until';

const CURSOR = '█';

/** A function whose rest the embedded model knows. */
export const SUBTRACT = `export function add(a: number, b: number): number {
  return a + b;
}

export function subtract(a: number, b: number): number {
  ret█
}
`;

export function extension(): vscode.Extension<TestApi | undefined> {
  const found = vscode.extensions.getExtension<TestApi | undefined>('anllm.anllm');
  assert.ok(found, 'the extension anllm.anllm is installed');
  return found;
}

export async function testApi(): Promise<TestApi> {
  const api = await extension().activate();
  assert.ok(api, 'activate() returns a test API in test mode');
  return api;
}

/** Opens an untitled document with the cursor where █ stands. */
export async function open(text: string, language = 'typescript'): Promise<vscode.TextDocument> {
  const offset = text.indexOf(CURSOR);
  const content = text.replace(CURSOR, '');
  const document = await vscode.workspace.openTextDocument({ language, content });
  const editor = await vscode.window.showTextDocument(document);
  const position = document.positionAt(offset);
  editor.selection = new vscode.Selection(position, position);
  return document;
}

/** Asks for a suggestion by command. @returns the extension's own record of what came of it */
export async function trigger(): Promise<ReturnType<TestApi['decisions']>[number]> {
  const api = await testApi();
  const [last] = api.decisions();
  // The editor does not ask twice for one place while it holds an answer.
  await vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
  await vscode.commands.executeCommand('editor.action.inlineSuggest.trigger');
  return await until('a decision', () => {
    const [newest] = api.decisions();
    return newest !== last && newest?.invoked ? newest : undefined;
  });
}

export async function closeAll(): Promise<void> {
  while (vscode.window.activeTextEditor) {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  }
}
