/** An agent of VS Code on the chat model, through the provider: its requests are long, and each repeats the one before. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type * as vscode from 'vscode';
import { startProcess } from '../../../extension/host/engine/process';
import { EngineSupervisor } from '../../../extension/host/engine/supervisor';
import type { ProviderParts } from '../../../extension/host/language_model/provider';
import { parseSettings } from '../../../extension/host/settings';
import type { LogEntry } from '../../../extension/protocol/engine';
import { FIXTURES, SPROUT } from '../../engine/loading/model_fixture';
import { stubVsCode } from '../vscode_stub';
import { agentTools } from './agent_tools';
import { writeShallowModel } from './shallow_model';

class EventEmitter {
  readonly event = (): object => ({ dispose: () => undefined });
  fire(): void {}
  dispose(): void {}
}
class LanguageModelTextPart {
  constructor(readonly value: string) {}
}
stubVsCode({
  EventEmitter,
  LanguageModelTextPart,
  LanguageModelThinkingPart: undefined,
  LanguageModelToolCallPart: class {},
  LanguageModelError: Error,
  LanguageModelChatToolMode: { Auto: 1, Required: 2 },
  lm: { registerLanguageModelChatProvider: () => ({ dispose: () => undefined }) },
});

const CONTEXT = 32_768;
const tools = agentTools();
const said = (role: number, ...content: object[]) =>
  ({ role, content, name: undefined }) as vscode.LanguageModelChatRequestMessage;
const text = (value: string) => new LanguageModelTextPart(value);
const QUESTION = [
  said(3, text('You are an agent that works in an editor. Follow the instructions of the user.')),
  said(1, text('Where is the total of an invoice computed?')),
];

describe('an agent with tools of 53 kB', () => {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-agent-'));
  const log: LogEntry[] = [];
  let engine: EngineSupervisor;
  before(() => {
    writeShallowModel(folder, CONTEXT);
    const template = join(FIXTURES, 'templates', 'qwen3', 'chat_template.jinja');
    cpSync(template, join(folder, 'chat_template.jinja'));
  });
  after(async () => {
    await engine.close();
    rmSync(folder, { recursive: true });
  });

  /** A provider over an engine process of its own. `ask` resolves with what the log says of the request. */
  async function provider(contextLength: number) {
    await engine?.close();
    const values: Readonly<Record<string, unknown>> = {
      'chat.model': folder,
      'chat.contextLength': contextLength,
      'engine.sessionCache': 0,
    };
    const settings = parseSettings((key) => values[key], SPROUT);
    const script = new URL('../../../extension/engine/main.ts', import.meta.url).pathname;
    engine = new EngineSupervisor({
      start: (events) =>
        startProcess({ script, settings: settings.engine, execArgv: ['--import', 'tsx'] }, events),
      log: () => undefined,
    });
    const { ModelProvider } = await import('../../../extension/host/language_model/provider');
    const parts = {
      configuration: { current: settings, onChange: () => ({ dispose: () => undefined }) },
      engine,
      log: { write: (entry: LogEntry) => log.push(entry) },
    } as unknown as ProviderParts;
    const models = new ModelProvider(parts);
    const [model] = models.provideLanguageModelChatInformation();
    assert.ok(model);
    const short = { ...model, maxOutputTokens: 16 };
    const token = { onCancellationRequested: () => ({ dispose: () => undefined }) };
    return async (messages: readonly vscode.LanguageModelChatRequestMessage[]) => {
      await models.provideLanguageModelChatResponse(
        short,
        messages,
        { tools, toolMode: 1, modelOptions: { temperature: 0 } },
        { report: () => undefined },
        token as unknown as vscode.CancellationToken,
      );
      const [, prompt, cached] = /(\d+) tokens of prompt \((\d+) cached\)/.exec(
        log.at(-1)?.message ?? '',
      ) ?? ['', '', ''];
      return { prompt: Number(prompt), cached: Number(cached) };
    };
  }

  it('reads them once: the second turn computes what is new in it', async (context) => {
    const bytes = Buffer.byteLength(JSON.stringify(tools));
    assert.ok(bytes > 52_000 && bytes < 55_000, `${bytes} bytes`);
    const ask = await provider(CONTEXT);
    const first = await ask(QUESTION);
    const input = { filePath: '/w/invoice.ts', explanation: 'To see how the total is computed.' };
    const call = { callId: 'call_1', name: 'read_file', input };
    const result = { callId: 'call_1', content: [text('export function total() {}\n'.repeat(40))] };
    const second = await ask([...QUESTION, said(2, call), said(1, result)]);
    context.diagnostic(
      `${bytes} bytes of tools; turn 1: ${first.prompt} tokens, ${first.cached} cached; ` +
        `turn 2: ${second.prompt} tokens, ${second.cached} cached`,
    );
    assert.ok(first.prompt > 10_000, `${first.prompt} tokens`);
    const added = second.prompt - first.prompt;
    const computed = second.prompt - second.cached;
    // What the first prompt ends with is cut at the last whole block of the cache.
    assert.ok(computed <= added + 64, `${computed} of ${added} new tokens were computed`);
  });

  it('says what to do where they do not fit', async () => {
    const ask = await provider(8192);
    await assert.rejects(ask(QUESTION), (error: Error) => {
      assert.match(
        error.message,
        /has 1\d{4} tokens, about 1\d{4} of them for 50 tools, and \d+ fit.*fewer tools.*anllm\.chat\.contextLength.* at least 2\d{4}$/,
      );
      return true;
    });
  });
});
