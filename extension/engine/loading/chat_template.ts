import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parse, tokenize } from '@huggingface/jinja';
import { EngineError } from '../errors';
import { badModel, messageOf, oneLine, quote } from './bad_model';
import { protectText, restoreText } from './control_text';
import { renderTemplate, TemplateRejection, type TemplateProgram } from './jinja_sandbox';
import { isJsonObject, type JsonObject, readJsonObject, readTextFile } from './json_file';
import { allowedRoot } from './model_file';
import type { Tokenizer } from './tokenizer';
import { readTokenizerConfig } from './tokenizer_config';

const TEMPLATE_FILE = 'chat_template.jinja';
/** The longest public templates have 30 KB. */
const MAX_TEMPLATE = 256 * 1024;

/** One message as chat templates know it; further keys, such as tool_calls, are passed on. */
export interface ChatMessage extends JsonObject {
  readonly role: string;
}

export interface ChatOptions {
  /** Ends with the start of the assistant's turn. */
  readonly addGenerationPrompt: boolean;
  /** For models that can think first; absent = the model's default. */
  readonly enableThinking?: boolean;
  /** Function definitions in OpenAI's form. */
  readonly tools?: readonly JsonObject[];
}

/** A model's chat template: a Jinja program that writes a conversation the way the model was trained on it. */
export class ChatTemplate {
  private program: TemplateProgram | null = null;
  private readsTools: boolean | null = null;

  private constructor(
    private readonly file: string,
    private readonly source: string,
    private readonly specialTokens: Readonly<Record<string, string>>,
    private readonly tokenizer: Tokenizer,
  ) {}

  /** The template of a model folder: chat_template.jinja, else the one in tokenizer_config.json; null without one. */
  static load(folder: string, tokenizer: Tokenizer): ChatTemplate | null {
    const root = allowedRoot(folder);
    const config = readTokenizerConfig(folder, root);
    const own = join(folder, TEMPLATE_FILE);
    const isOwn = existsSync(own);
    const file = isOwn ? own : config.file;
    const source = isOwn
      ? readTextFile(own, root, MAX_TEMPLATE)
      : (defaultTemplate(file, config.chatTemplate) ?? processorTemplate(folder, root));
    return source === null ? null : ChatTemplate.of(file, source, config.tokens, tokenizer);
  }

  /** A template by its source. `specialTokens`: texts that it knows by name, such as `bos_token`. */
  static of(
    file: string,
    source: string,
    specialTokens: Readonly<Record<string, string>>,
    tokenizer: Tokenizer,
  ): ChatTemplate {
    if (source.length > MAX_TEMPLATE) {
      throw badModel(
        file,
        `chat_template: got ${source.length} characters, expected at most ${MAX_TEMPLATE}`,
      );
    }
    return new ChatTemplate(file, source, specialTokens, tokenizer);
  }

  /** True when the template writes tool definitions by itself; some look for them elsewhere than HF's renderer has them. */
  get knowsTools(): boolean {
    return (this.readsTools ??= this.findTools());
  }

  /** True for Mistral's, which refuse longer names of calls. */
  get wantsShortIds(): boolean {
    return /alphanumeric/.test(this.source);
  }

  /** The conversation as text. Throws bad_request when the template refuses it, bad_model when it is broken. */
  render(messages: readonly ChatMessage[], options: ChatOptions): string {
    const variables: Record<string, unknown> = {
      ...this.specialTokens,
      // As HF's renderer has them: defined, and none.
      tools: null,
      documents: null,
      messages,
      add_generation_prompt: options.addGenerationPrompt,
    };
    if (options.enableThinking !== undefined) {
      variables.enable_thinking = options.enableThinking;
      variables.thinking = options.enableThinking; // Granite's and DeepSeek's name of it
    }
    if (options.tools !== undefined && options.tools.length > 0) variables.tools = options.tools;
    try {
      return renderTemplate(this.parsed(), variables);
    } catch (error) {
      if (error instanceof EngineError) throw error;
      if (error instanceof TemplateRejection) {
        throw new EngineError('bad_request', oneLine(`chat template: ${error.message}`), {
          cause: error,
        });
      }
      throw badModel(this.file, `chat_template: ${messageOf(error)}`, error);
    }
  }

  /**
   * The conversation as ids. Only the template writes control tokens: their text in what users, tools and tool
   * definitions say is encoded as plain text. The assistant's own turns may hold them, such as `<think>`.
   */
  encode(messages: readonly ChatMessage[], options: ChatOptions): number[] {
    const controls = this.tokenizer.controlTexts;
    const text = this.render(
      messages.map((m) => (m.role === 'assistant' ? m : protectText(m, controls))),
      options.tools === undefined
        ? options
        : { ...options, tools: protectText(options.tools, controls) },
    );
    return this.tokenizer.encodeTemplate(text, (part) => restoreText(part, controls));
  }

  private findTools(): boolean {
    if (!/\btools\b/.test(this.source)) return false;
    try {
      return readsVariable(this.parsed(), 'tools');
    } catch {
      return true; // a broken template is reported where it renders
    }
  }

  /** Parsed at the first use: a broken chat template must not keep a model from completing code. */
  private parsed(): TemplateProgram {
    this.program ??= parse(tokenize(this.source, { lstrip_blocks: true, trim_blocks: true }));
    return this.program;
  }
}

/** Older image models keep it with what prepares images: chat_template.json. */
function processorTemplate(folder: string, root: string): string | null {
  const file = join(folder, 'chat_template.json');
  if (!existsSync(file)) return null;
  return defaultTemplate(file, readJsonObject(file, root, 2 * MAX_TEMPLATE).chat_template);
}

/** Whether some expression of a template is the variable `name`, which a property of that name is not. */
function readsVariable(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((item) => readsVariable(item, name));
  if (typeof node !== 'object' || node === null) return false;
  const { type, value, computed } = node as Record<string, unknown>;
  if (type === 'Identifier') return value === name;
  return Object.entries(node).some(([key, child]) => {
    const isName =
      (type === 'MemberExpression' && key === 'property' && computed === false) ||
      (type === 'KeywordArgumentExpression' && key === 'key');
    return !isName && readsVariable(child, name);
  });
}

/** `chat_template` is a text, or a list of named ones, of which the default is taken. */
function defaultTemplate(file: string, value: unknown): string | null {
  const templates: unknown[] = Array.isArray(value) ? (value as unknown[]) : [];
  const named = templates.filter(isJsonObject).find((template) => template.name === 'default');
  const source = named === undefined ? (value ?? null) : named.template;
  if (source === null || typeof source === 'string') return source;
  throw badModel(
    file,
    `chat_template: got ${quote(source)}, expected a text, or a list with one named "default"`,
  );
}
