/** The engine's process and the connection to it. Loaded when the first engine starts, not at activation. */
import { fork, type ChildProcess } from 'node:child_process';
import { dirname } from 'node:path';
import * as l10n from '@vscode/l10n';
import {
  CancellationTokenSource,
  createMessageConnection,
  IPCMessageReader,
  IPCMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import type { EngineSettings } from '../../protocol/engine';
import { ProtocolError } from '../../protocol/errors';
import type { Method, Requests } from '../../protocol/messages';
import { call, onNotify } from '../../protocol/peer';
import { PROTOCOL_VERSION } from '../../protocol/version';
import { childEnvironment } from './environment';
import type { CallOptions, EngineLink, LinkEvents } from './link';

/** A child that does not answer hello in this time is broken; reading the bundle takes a tenth of it. */
const HELLO_WITHIN_MS = 10_000;
/** The child ends itself within a second of `shutdown`. */
const STOP_WITHIN_MS = 1000;

export interface ProcessOptions {
  /** The engine's bundle. */
  readonly script: string;
  readonly settings: EngineSettings;
  /** Node arguments; empty but in tests. */
  readonly execArgv?: readonly string[];
}

export async function startProcess(
  options: ProcessOptions,
  events: LinkEvents,
): Promise<EngineLink> {
  const child = fork(options.script, [], {
    env: childEnvironment(process.env),
    // Not the folder that the editor was started in, which may be a workspace.
    cwd: dirname(options.script),
    execArgv: [...(options.execArgv ?? [])],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const exited = exitOf(child);
  forwardOutput(child, events);
  const connection = createMessageConnection(
    new IPCMessageReader(child),
    new IPCMessageWriter(child),
  );
  // A message that cannot be written is told by the exit of the process, which follows.
  connection.onError(() => undefined);
  onNotify(connection, 'status', events.onStatus);
  onNotify(connection, 'chatStatus', events.onChatStatus);
  onNotify(connection, 'log', events.onLog);
  connection.listen();

  const link = new ProcessLink(child, connection, exited);
  try {
    const { protocolVersion } = await link.hello(options.settings);
    if (protocolVersion !== PROTOCOL_VERSION) {
      throw new ProtocolError(
        'unavailable',
        l10n.t(
          'the engine speaks protocol {engine}, the extension {extension}: reload the window',
          { engine: protocolVersion, extension: PROTOCOL_VERSION },
        ),
      );
    }
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  void exited.then((how) => {
    events.onExit(how);
    connection.dispose();
  });
  return link;
}

class ProcessLink implements EngineLink {
  readonly pid: number;

  constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
    private readonly exited: Promise<string>,
  ) {
    this.pid = child.pid ?? 0;
  }

  async hello(settings: EngineSettings): Promise<Requests['hello']['result']> {
    const timeout = new AbortController();
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new ProtocolError(
              'unavailable',
              l10n.t('the engine did not answer in {ms} ms', { ms: HELLO_WITHIN_MS }),
            ),
          ),
        HELLO_WITHIN_MS,
      );
      timeout.signal.addEventListener('abort', () => clearTimeout(timer));
    });
    try {
      return await Promise.race([
        this.call('hello', { protocolVersion: PROTOCOL_VERSION, settings }),
        late,
      ]);
    } finally {
      timeout.abort();
    }
  }

  async call<M extends Method>(
    method: M,
    params: Requests[M]['params'],
    { signal, onPartial }: CallOptions<M> = {},
  ): Promise<Requests[M]['result']> {
    const source = new CancellationTokenSource();
    const cancel = (): void => source.cancel();
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const gone = this.exited.then((how) => {
      throw new ProtocolError('unavailable', l10n.t('the engine process ended ({how})', { how }));
    });
    try {
      const answer = call(this.connection, method, params, {
        token: source.token,
        ...(onPartial ? { onPartial } : {}),
      });
      return await Promise.race([answer, gone]);
    } finally {
      signal?.removeEventListener('abort', cancel);
      source.dispose();
    }
  }

  async stop(): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_WITHIN_MS);
    try {
      this.call('shutdown', null).catch(() => undefined);
      await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Resolves when the process has ended or could not be started. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) =>
      resolve(signal === null ? l10n.t('exit code {code}', { code: String(code) }) : signal),
    );
  });
}

/** What a library prints goes to the log. */
function forwardOutput(child: ChildProcess, events: LinkEvents): void {
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      events.onLog({ level: 'debug', message: text.trimEnd() });
    });
  }
}
