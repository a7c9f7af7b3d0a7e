/**
 * The extension: builds the parts and wires them.
 *
 * Commands: see command_ids.ts. With the extension host in test mode, or ANLLM_TEST=1 in its environment, activate()
 * returns a TestApi.
 */
import { join } from 'node:path';
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { CompletionResult } from '../protocol/completion';
import { useLanguage } from '../protocol/numbers';
import { registerProblemActions } from './chat/problem_actions';
import { registerChatView } from './chat/view_provider';
import { registerCommands } from './commands';
import { Debounce } from './completion/debounce';
import { DecisionLog, describe, explain, type Decision } from './completion/decisions';
import { registerProvider } from './completion/provider';
import { CompletionService, type Counters } from './completion/service';
import { Configuration } from './configuration';
import { EngineSupervisor } from './engine/supervisor';
import type { Host } from './host';
import { reportFailures } from './failures';
import { registerParticipant } from './language_model/participant';
import { ModelProvider } from './language_model/provider';
import { registerTools } from './language_model/tools';
import { DisposableStore, Lazy } from './lifecycle';
import { Log } from './log';
import { registerNetworkDocument } from './models/network_document';
import { registerModelsView } from './models/view';
import { RemoteKey } from './remote_key';
import { OpenAiServer } from './openai/server';
import { serverToken } from './openai/token';
import { answersChanged, engineChanged, languageEnabled } from './settings';
import { Snapshots } from './snapshots';
import { Snooze } from './snooze';
import { watchModels } from './start/model_keys';
import { openWalkthroughOnce } from './start/walkthrough';
import { StatusBar } from './status_bar';
import { statusView } from './status_view';
import { registerWhyDocument } from './why_document';

/** What end-to-end tests look at. */
export interface TestApi {
  /** `pending`: questions of the editor that are not answered yet, the wait included. */
  counters(): Counters & {
    /** Engine processes started in this window. */
    readonly starts: number;
    /** Of the running engine process, or null. */
    readonly pid: number | null;
    /** State of the engine, as in the protocol, or 'stopped' or 'crashed'. */
    readonly engine: string;
    /** Of the OpenAI-compatible server, or null. */
    readonly serverUrl: string | null;
    /** The last answer of the engine, with its timings. */
    readonly lastResult: CompletionResult | null;
  };
  /** The last decisions, newest first. */
  decisions(): readonly Decision[];
}

let engine: EngineSupervisor | undefined;

export function activate(context: vscode.ExtensionContext): TestApi | undefined {
  if (vscode.l10n.bundle) {
    l10n.config({ contents: vscode.l10n.bundle });
    useLanguage(vscode.env.language);
  }
  const store = new DisposableStore();
  context.subscriptions.push(store);
  const log = store.add(new Log());
  const builtInModel = join(context.extensionPath, 'extension', 'assets', 'sprout');
  const configuration = store.add(new Configuration(builtInModel));
  const snooze = store.add(new Snooze());
  const remoteKey = store.add(new RemoteKey(context.secrets, () => stopEngine(host)));
  const supervisor = new EngineSupervisor({
    start: async (events) => {
      const { startProcess } = await import('./engine/process');
      const script = join(context.extensionPath, 'dist', 'engine.js');
      const settings = await remoteKey.complete(configuration.current.engine);
      return startProcess({ script, settings }, events);
    },
    log: (entry) => log.write(entry),
  });
  engine = supervisor;
  const token = () => serverToken(context.secrets);
  const server = store.add(
    new OpenAiServer({
      engine: supervisor,
      settings: () => configuration.current.server,
      token,
      log: (entry) => log.write(entry),
    }),
  );
  const decisions = new DecisionLog();
  const completions = new CompletionService({
    ask: (request, options) => supervisor.complete(request, options),
    debounce: new Debounce(),
    settings: () => configuration.current,
    record: (decision) => {
      decisions.add(decision);
      log.write({ level: 'debug', message: describe(decision) });
    },
  });
  const parts = { context, configuration, engine: supervisor, log };
  const snapshots = store.add(new Snapshots());
  const models = store.add(
    new Lazy(async () => (await import('./models/models')).startModels(parts)),
  );
  const chat = store.add(
    new Lazy(async () => (await import('./chat/chat')).startChat({ ...parts, snapshots })),
  );
  const inlineEdit = store.add(
    new Lazy(async () => {
      const { InlineEdit } = await import('./edit/inline_edit');
      return new InlineEdit({ ...parts, snapshots });
    }),
  );
  const host: Host = {
    configuration,
    snooze,
    engine: supervisor,
    remoteKey,
    server,
    serverToken: token,
    completions,
    decisions,
    chat,
    inlineEdit,
    models,
    log,
  };
  store.add(registerChatView(chat));
  store.add(registerProblemActions(configuration));
  store.add(registerModelsView(models, configuration));
  store.add(new ModelProvider(host));
  store.add(registerTools());
  store.add(registerParticipant(host));
  store.add(registerCommands(host));
  store.add(registerWhyDocument(decisions));
  store.add(registerNetworkDocument(host));
  store.add(registerProvider(host));
  watchSettings(host, store);
  showStatus(host, store);
  store.add(reportFailures(host));
  store.add(watchModels(configuration));

  const inTest =
    context.extensionMode === vscode.ExtensionMode.Test || process.env['ANLLM_TEST'] === '1';
  if (!inTest) void openWalkthroughOnce(context.globalState);
  return inTest ? testApi(host) : undefined;
}

/** The engine process ends with the window. */
export async function deactivate(): Promise<void> {
  await engine?.close();
}

/** Nothing runs while completions are off and nobody chats, and a changed engine setting takes effect with the next completion. */
function watchSettings(host: Host, store: DisposableStore): void {
  const { configuration, snooze, engine: supervisor, completions } = host;
  /** The chat goes on without completions. */
  const chatRuns = (): boolean => ['ready', 'generating'].includes(supervisor.chatStatus.state);
  store.add(
    configuration.onChange(({ before, after }) => {
      if (answersChanged(before, after)) completions.reset();
      if (engineChanged(before, after) || (!after.enabled && !chatRuns())) stopEngine(host);
    }),
  );
  store.add(snooze.onChange((active) => active && !chatRuns() && stopEngine(host)));
}

function stopEngine({ engine: supervisor, completions, log }: Host): void {
  completions.reset();
  supervisor
    .stop()
    .catch((error: unknown) => log.write({ level: 'error', message: String(error) }));
}

function showStatus(host: Host, store: DisposableStore): void {
  const { configuration, snooze, engine: supervisor, server, decisions } = host;
  const bar = store.add(new StatusBar());
  const update = (): void => {
    const languageId = vscode.window.activeTextEditor?.document.languageId ?? null;
    const outcome = decisions.all[0]?.outcome;
    bar.show(
      statusView({
        enabled: configuration.current.enabled,
        languageId,
        languageEnabled: languageId === null || languageEnabled(configuration.current, languageId),
        snoozedMinutes: snooze.minutesLeft,
        engine: supervisor.status,
        serverPort: server.address?.port ?? null,
        why: outcome?.kind === 'nothing' ? explain(outcome.reason, outcome.detail) : '',
      }),
    );
  };
  store.add(configuration.onChange(update));
  store.add(snooze.onChange(update));
  store.add(supervisor.onStatus(update));
  store.add(server.onChange(update));
  store.add(vscode.window.onDidChangeActiveTextEditor(update));
  update();
}

function testApi({ completions, engine: supervisor, server, decisions }: Host): TestApi {
  return {
    counters: () => ({
      ...completions.counters,
      starts: supervisor.starts,
      pid: supervisor.pid ?? null,
      engine: supervisor.status.state,
      serverUrl: server.address?.url ?? null,
      lastResult: completions.lastResult,
    }),
    decisions: () => decisions.all,
  };
}
