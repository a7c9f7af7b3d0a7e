import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { checkFromView, type FromView, type ToView } from '../../protocol/chat_view';
import { assertNever } from '../../protocol/errors';
import type { Log } from '../log';
import type { CodeActions } from './code_actions';
import { attachDropped } from './dropped';
import type { ChatController } from './controller';
import { toMarkdown } from './export';
import type { History } from './history';
import { chatPage, freshNonce, PAGE_OPTIONS, type Translation } from './html';
import { pickAttachment } from './pick_attachment';
import { SymbolFinder } from './symbols';
import { CHAT_VIEW } from './view_id';

export interface ChatViewParts {
  readonly extensionUri: vscode.Uri;
  readonly controller: ChatController;
  readonly history: History;
  readonly codeActions: CodeActions;
  readonly log: Log;
}

/** The chat view: shows the controller's conversation in a webview and passes on what the user does there. */
export class ChatView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | null = null;
  private isReady = false;
  /** For a page that has not loaded yet. */
  private waiting: ToView[] = [];
  private query = '';
  private readonly symbols = new SymbolFinder();

  constructor(private readonly parts: ChatViewParts) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    const { webview } = view;
    const folder = vscode.Uri.joinPath(this.parts.extensionUri, 'dist', 'webview');
    webview.options = {
      ...PAGE_OPTIONS,
      localResourceRoots: [folder],
    };
    const file = (name: string): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(folder, name)).toString();
    webview.onDidReceiveMessage((message: unknown) => this.receive(message));
    // A hidden page is gone, and says so again when it is back.
    view.onDidChangeVisibility(() => (this.isReady &&= view.visible));
    view.onDidDispose(() => {
      if (this.view !== view) return;
      this.view = null;
      this.isReady = false;
    });
    webview.html = chatPage({
      script: file('chat.js'),
      style: file('chat.css'),
      cspSource: webview.cspSource,
      nonce: freshNonce(),
      translation: displayTranslation(),
    });
  }

  /** To the page, when there is one: it is told everything when it loads. */
  post(message: ToView): void {
    if (this.isReady) void this.view?.webview.postMessage(message);
  }

  /** Shows the view with the focus in the input, or in the history. */
  async reveal(message: ToView = { kind: 'compose', text: '' }): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT_VIEW}.focus`);
    if (this.isReady) this.post(message);
    else this.waiting.push(message);
  }

  private receive(raw: unknown): void {
    let message: FromView;
    try {
      message = checkFromView(raw, 'chat view');
    } catch (error) {
      const dropped = `dropped a message of the chat view: ${String(error)}`;
      this.parts.log.write({ level: 'warn', message: dropped });
      return;
    }
    this.act(message).catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      const failed = `chat view, ${message.kind}: ${text}`;
      this.parts.log.write({ level: 'error', message: failed });
      void vscode.window.showErrorMessage(`anllm: ${text}`);
    });
  }

  private async act(message: FromView): Promise<void> {
    const { controller, codeActions, log } = this.parts;
    switch (message.kind) {
      case 'ready':
        return this.pageLoaded();
      case 'send':
        return controller.send(message.text);
      case 'stop':
        return controller.stop();
      case 'retry':
        return controller.retry(message.turn);
      case 'edit':
        return controller.edit(message.turn, message.text);
      case 'branch':
        await controller.branch(message.turn);
        return this.reveal();
      case 'newChat':
        return controller.newChat();
      case 'search':
        this.query = message.query;
        return this.listHistory();
      case 'open':
        return controller.open(message.id);
      case 'rename':
        await controller.rename(message.id, message.title);
        return this.listHistory();
      case 'remove':
        return this.remove(message.id);
      case 'export':
        return this.export(message.id);
      case 'attach': {
        const attachment = await pickAttachment();
        if (attachment) controller.attach(attachment);
        return this.reveal();
      }
      case 'detach':
        return controller.detach(message.id);
      case 'findSymbols': {
        const symbols = await this.symbols.find(message.query);
        if (symbols) this.post({ kind: 'symbols', query: message.query, symbols });
        return;
      }
      case 'attachSymbol': {
        const attachment = await this.symbols.attachment(message.id);
        if (attachment) controller.attach(attachment);
        return;
      }
      case 'drop': {
        await attachDropped(message.uris, controller);
        return this.reveal();
      }
      case 'code':
        return codeActions.run(message.action, message.code, message.language);
      case 'link':
        return openLink(message.url);
      case 'chooseModel':
        await vscode.commands.executeCommand('anllm.chat.chooseModel');
        return;
      case 'showLog':
        return log.show();
      default:
        return assertNever(message);
    }
  }

  private pageLoaded(): void {
    this.isReady = true;
    this.parts.controller.show();
    for (const message of this.waiting.splice(0)) this.post(message);
  }

  private async listHistory(): Promise<void> {
    const { query } = this;
    const entries = await this.parts.history.list(query);
    // A search that took longer than a later one says nothing any more.
    if (query === this.query) this.post({ kind: 'history', entries });
  }

  private async remove(id: string): Promise<void> {
    const found = await this.parts.history.read(id);
    if (!found) return;
    const remove = l10n.t('Delete');
    const question = l10n.t('Delete the chat “{title}”?', { title: found.title });
    const options = { modal: true, detail: l10n.t('It cannot be brought back.') };
    if ((await vscode.window.showWarningMessage(question, options, remove)) !== remove) return;
    await this.parts.controller.remove(id);
    await this.listHistory();
  }

  private async export(id: string): Promise<void> {
    const found = await this.parts.history.read(id);
    if (!found) return;
    const name = found.title.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '');
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const uri = await vscode.window.showSaveDialog({
      title: l10n.t('Export the chat'),
      filters: { Markdown: ['md'] },
      ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, `${name || 'chat'}.md`) } : {}),
    });
    if (!uri) return;
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(toMarkdown(found)));
    await vscode.window.showTextDocument(uri);
  }
}

/** None where VS Code speaks English, or a language that nobody has translated to. */
function displayTranslation(): Translation | undefined {
  const texts = vscode.l10n.bundle;
  return texts && { language: vscode.env.language, texts };
}

/** A model wrote the address: the user sees all of it before anything is opened. */
async function openLink(url: string): Promise<void> {
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return;
  const open = l10n.t('Open');
  const options = { modal: true, detail: url };
  const choice = await vscode.window.showInformationMessage(
    l10n.t('Open this link?'),
    options,
    open,
  );
  if (choice === open) await vscode.env.openExternal(vscode.Uri.parse(url, true));
}
