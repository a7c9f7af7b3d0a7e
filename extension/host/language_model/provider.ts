import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { MODEL_SAMPLING, type ChatPart, type ChatRequest } from '../../protocol/chat';
import type { Configuration } from '../configuration';
import type { EngineSupervisor } from '../engine/supervisor';
import { modelState } from '../chat/model_state';
import { DisposableStore, type Disposable } from '../lifecycle';
import type { Log } from '../log';
import { chatModelOf } from '../settings';
import { textOf, toMessages, toTools } from './messages';
import { TokenCounter } from './token_counter';

export const VENDOR = 'anllm';
/** Until the model is loaded and says what it has: the engine's default. */
const DEFAULT_CONTEXT = 8192;
/** Of the context, at most this share is for one answer. */
const OUTPUT_SHARE = 1 / 4;

/** Final from 1.104 on, but for the thinking part, which every VS Code since has and none declares. */
type ThinkingPart = new (text: string) => vscode.LanguageModelResponsePart;
const { LanguageModelThinkingPart } = vscode as unknown as {
  readonly LanguageModelThinkingPart?: ThinkingPart;
};

export interface ProviderParts {
  readonly configuration: Configuration;
  readonly engine: EngineSupervisor;
  readonly log: Log;
}

/** Makes the chat model one of VS Code's own: for its chat, its agents, and other extensions. */
export class ModelProvider implements vscode.LanguageModelChatProvider, Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly store = new DisposableStore();
  private readonly counter: TokenCounter;
  private told = '';

  readonly onDidChangeLanguageModelChatInformation = this.changed.event;

  constructor(private readonly parts: ProviderParts) {
    const { engine, configuration } = parts;
    this.counter = new TokenCounter({
      countExactly: (texts) => engine.countTokens(texts),
      isLoaded: () => ['ready', 'generating'].includes(engine.chatStatus.state),
    });
    this.store.add(this.changed);
    this.store.add(engine.onChatStatus(() => this.tellChange()));
    this.store.add(configuration.onChange(() => this.tellChange()));
    this.store.add(vscode.lm.registerLanguageModelChatProvider(VENDOR, this));
    // VS Code asks a provider for its models when they change, not when it registers.
    setTimeout(() => this.changed.fire(), 0);
  }

  /** Asked often: answers with what is known, and loads nothing. */
  provideLanguageModelChatInformation(): vscode.LanguageModelChatInformation[] {
    const { configuration, engine } = this.parts;
    const { chatContextLength, remote } = configuration.current.engine;
    const model = chatModelOf(configuration.current.engine);
    const { state, title, contextLength } = modelState(model, engine.chatStatus);
    if (state === 'none') return [];
    const context = contextLength || chatContextLength || DEFAULT_CONTEXT;
    const maxOutputTokens = Math.floor(context * OUTPUT_SHARE);
    return [
      {
        id: 'chat',
        name: title,
        family: 'anllm',
        version: '1',
        detail:
          remote === null ? l10n.t('on this computer') : l10n.t('on {url}', { url: remote.url }),
        tooltip: model,
        maxInputTokens: context - maxOutputTokens,
        maxOutputTokens,
        capabilities: { toolCalling: true, imageInput: false },
      },
    ];
  }

  async provideLanguageModelChatResponse(
    model: vscode.LanguageModelChatInformation,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    options: vscode.ProvideLanguageModelChatResponseOptions,
    progress: vscode.Progress<vscode.LanguageModelResponsePart>,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const controller = new AbortController();
    const listener = token.onCancellationRequested(() => controller.abort());
    const temperature: unknown = options.modelOptions?.['temperature'];
    try {
      const request: ChatRequest = {
        messages: toMessages(messages, isThinking),
        tools: toTools(options.tools ?? []),
        toolChoice:
          options.toolMode === vscode.LanguageModelChatToolMode.Required ? 'required' : 'auto',
        sampling: {
          ...MODEL_SAMPLING,
          temperature:
            typeof temperature === 'number' && temperature >= 0 && temperature <= 2
              ? temperature
              : this.parts.configuration.current.chat.temperature,
        },
        thinking: 'auto',
        maxTokens: model.maxOutputTokens,
      };
      const result = await this.parts.engine.chat(request, {
        signal: controller.signal,
        onPartial: (part) => report(part, progress),
      });
      const { promptTokens, cachedTokens, generatedTokens } = result.usage;
      this.parts.log.write({
        level: 'debug',
        message:
          `language model: ${promptTokens} tokens of prompt (${cachedTokens} cached), ` +
          `${generatedTokens} written in ${result.timings.totalMs.toFixed(0)} ms, ${result.finish}`,
      });
    } catch (error) {
      // Of other errors the caller gets no text.
      throw new vscode.LanguageModelError(error instanceof Error ? error.message : String(error));
    } finally {
      listener.dispose();
    }
  }

  provideTokenCount(
    _model: vscode.LanguageModelChatInformation,
    text: string | vscode.LanguageModelChatRequestMessage,
  ): Promise<number> {
    return Promise.resolve(
      this.counter.count(typeof text === 'string' ? text : textOf(text.content)),
    );
  }

  dispose(): void {
    this.store.dispose();
  }

  /** Fires only when what is told of the model has changed. */
  private tellChange(): void {
    const now = JSON.stringify(this.provideLanguageModelChatInformation());
    if (now === this.told) return;
    this.told = now;
    this.counter.forget();
    this.changed.fire();
  }
}

function isThinking(part: unknown): boolean {
  return LanguageModelThinkingPart !== undefined && part instanceof LanguageModelThinkingPart;
}

function report(part: ChatPart, progress: vscode.Progress<vscode.LanguageModelResponsePart>): void {
  switch (part.kind) {
    case 'prompt':
      return;
    case 'text':
      return progress.report(new vscode.LanguageModelTextPart(part.text));
    case 'reasoning':
      if (LanguageModelThinkingPart) progress.report(new LanguageModelThinkingPart(part.text));
      return;
    case 'toolCall': {
      const { id, name, arguments: args } = part.call;
      const input = JSON.parse(args) as object;
      return progress.report(new vscode.LanguageModelToolCallPart(id, name, input));
    }
  }
}
