/** The chat view and a page that says what it likes: it shows what a model wrote. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { WebviewView } from 'vscode';
import type { ChatView, ChatViewParts } from '../../../extension/host/chat/view';
import type { FromView, ToView } from '../../../extension/protocol/chat_view';
import type { LogEntry } from '../../../extension/protocol/engine';
import { stubVsCode } from '../vscode_stub';

/** What the user was asked and shown, and what was opened. */
const asked: string[] = [];
const shown: string[] = [];
const opened: string[] = [];
let choice: string | undefined;

stubVsCode({
  env: { language: 'en', openExternal: (uri: string) => opened.push(uri) },
  l10n: { bundle: undefined },
  Uri: { joinPath: (...parts: string[]) => parts.join('/'), parse: (text: string) => text },
  commands: { executeCommand: async () => undefined },
  window: {
    showInformationMessage: async (question: string, { detail }: { detail: string }) => {
      asked.push(`${question} ${detail}`);
      return choice;
    },
    showErrorMessage: (message: string) => shown.push(message),
  },
});

class Lab {
  readonly log: LogEntry[] = [];
  readonly sent: ToView[] = [];
  readonly calls: string[] = [];
  private readonly listeners: Record<string, (value?: unknown) => void> = {};

  async start(): Promise<this> {
    const { ChatView } = await import('../../../extension/host/chat/view');
    const call = (name: string) => (argument: unknown) => {
      this.calls.push(`${name} ${JSON.stringify(argument)}`);
      if (argument === 'fail') throw new Error('it did not work');
    };
    const controller = {
      send: call('send'),
      open: call('open'),
      show: () => this.view.post(STATE),
    };
    this.view = new ChatView({
      extensionUri: '/extension',
      controller,
      history: { list: async () => [] },
      codeActions: { run: call('run') },
      log: { write: (entry: LogEntry) => this.log.push(entry) },
    } as unknown as ChatViewParts);
    this.view.resolveWebviewView({
      visible: true,
      webview: {
        asWebviewUri: (uri: string) => uri,
        onDidReceiveMessage: (listener: () => void) => (this.listeners['message'] = listener),
        postMessage: async (message: ToView) => this.sent.push(message),
      },
      onDidChangeVisibility: () => undefined,
      onDidDispose: (listener: () => void) => (this.listeners['dispose'] = listener),
    } as unknown as WebviewView);
    return this;
  }

  view!: ChatView;

  /** The page says something; resolves when what it leads to is done. */
  async says(message: unknown): Promise<void> {
    this.listeners['message']?.(message);
    await new Promise(setImmediate);
  }

  dispose(): void {
    this.listeners['dispose']?.();
  }
}

const STATE: ToView = { kind: 'attachments', attachments: [] };

describe('the chat view', () => {
  let lab: Lab;
  beforeEach(async () => {
    for (const list of [asked, shown, opened]) list.length = 0;
    choice = undefined;
    lab = await new Lab().start();
  });

  it('drops what the page has no business to say, with one line in the log for each', async () => {
    const hostile = [
      undefined,
      { kind: 'executeCommand', command: 'workbench.action.terminal.new' },
      { kind: 'send', text: 'x'.repeat(50 * 2 ** 20) },
      JSON.parse('{"kind":"open","id":"a","__proto__":{"x":1}}'),
    ];
    for (const message of hostile) await lab.says(message);
    assert.deepEqual([lab.calls, lab.sent, shown], [[], [], []]);
    assert.equal(lab.log.length, hostile.length);
    for (const { level, message } of lab.log) {
      assert.equal(level, 'warn');
      assert.ok(message.length < 500, message);
    }
  });

  it('sends the page nothing before it is there, and nothing when it is gone', async () => {
    lab.view.post(STATE);
    await lab.view.reveal({ kind: 'compose', text: 'later' });
    assert.deepEqual(lab.sent, []);
    await lab.says({ kind: 'ready' } satisfies FromView);
    assert.deepEqual(lab.sent, [STATE, { kind: 'compose', text: 'later' }]);
    lab.dispose();
    lab.view.post(STATE);
    await lab.says({ kind: 'send', text: 'still on its way' } satisfies FromView);
    assert.equal(lab.sent.length, 2);
    assert.deepEqual(shown, []);
  });

  it('says what failed, and goes on', async () => {
    await lab.says({ kind: 'send', text: 'fail' } satisfies FromView);
    await lab.says({ kind: 'open', id: 'a' } satisfies FromView);
    assert.deepEqual(shown, ['anllm: it did not work']);
    assert.deepEqual(lab.log, [{ level: 'error', message: 'chat view, send: it did not work' }]);
    assert.equal(lab.calls.at(-1), 'open "a"');
  });

  const url = 'https://evil.example/?q=SECRET';

  it('opens no link before the user has seen its whole address and agreed', async () => {
    await lab.says({ kind: 'link', url } satisfies FromView);
    assert.deepEqual([asked, opened], [[`Open this link? ${url}`], []]);
    choice = 'Open';
    await lab.says({ kind: 'link', url } satisfies FromView);
    assert.deepEqual(opened, [url]);
  });

  it('opens none that leads to a program or a file', async () => {
    choice = 'Open';
    for (const url of ['command:x', 'vscode://x/y', 'file:///etc/passwd', 'javascript:x', '//x']) {
      await lab.says({ kind: 'link', url } satisfies FromView);
    }
    assert.deepEqual([asked, opened], [[], []]);
  });
});
