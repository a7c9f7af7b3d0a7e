import * as vscode from 'vscode';
import { assertNever } from '../protocol/errors';
import type { LogEntry } from '../protocol/engine';
import { visible } from '../protocol/visible';
import { toEnglish } from './english';
import type { Disposable } from './lifecycle';

/** The log of the extension, in English, which is what reports of problems are read in; it shows all that is in a text. */
export class Log implements Disposable {
  private readonly channel = vscode.window.createOutputChannel('anllm', { log: true });
  private english: ((text: string) => string) | null = null;

  write({ level, message }: LogEntry): void {
    const text = visible(message);
    switch (level) {
      case 'trace':
        return this.channel.trace(text);
      case 'debug':
        return this.channel.debug(text);
      case 'info':
        return this.channel.info(text);
      case 'warn':
        return this.channel.warn(this.inEnglish(text));
      case 'error':
        return this.channel.error(this.inEnglish(text));
      default:
        return assertNever(level);
    }
  }

  show(): void {
    this.channel.show();
  }

  dispose(): void {
    this.channel.dispose();
  }

  /** Errors are made of texts that users see. */
  private inEnglish(text: string): string {
    this.english ??= toEnglish(vscode.l10n.bundle ?? {});
    return this.english(text);
  }
}
