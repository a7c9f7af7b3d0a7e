import * as vscode from 'vscode';
import { assertNever } from '../protocol/errors';
import type { CommandId } from './command_ids';
import type { Disposable } from './lifecycle';
import type { StatusView } from './status_view';

const MENU: CommandId = 'anllm.showMenu';

export class StatusBar implements Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'anllm.status',
    vscode.StatusBarAlignment.Right,
    100,
  );

  constructor() {
    this.item.name = 'anllm';
    this.item.command = MENU;
    this.item.show();
  }

  show({ text, lines, severity }: StatusView): void {
    this.item.text = text;
    this.item.tooltip = lines.join('\n');
    this.item.accessibilityInformation = { label: lines[0] ?? 'anllm', role: 'button' };
    this.item.backgroundColor = backgroundOf(severity);
  }

  dispose(): void {
    this.item.dispose();
  }
}

function backgroundOf(severity: StatusView['severity']): vscode.ThemeColor | undefined {
  switch (severity) {
    case 'normal':
      return undefined;
    case 'warning':
      return new vscode.ThemeColor('statusBarItem.warningBackground');
    case 'error':
      return new vscode.ThemeColor('statusBarItem.errorBackground');
    default:
      return assertNever(severity);
  }
}
