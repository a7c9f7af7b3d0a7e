import type { OutputCall, OutputPart } from './output';

/** One item of a response's `output`. */
export type ResponseItem = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * The parts of an answer as items of OpenAI's Responses API, and the events that tell of their growth: an item is
 * added, its part is added, grows and is done, the item is done.
 */
export class ItemWriter {
  readonly items: ResponseItem[] = [];
  private kind: 'text' | 'reasoning' | null = null;
  private text = '';

  constructor(
    private readonly responseId: string,
    private readonly send: (type: string, value: object) => void,
  ) {}

  write(part: OutputPart): void {
    if (part.kind === 'call') {
      this.close('completed');
      this.call(part.call);
      return;
    }
    if (part.kind !== this.kind) {
      this.close('completed');
      this.begin(part.kind);
    }
    this.text += part.text;
    const logprobs = part.kind === 'text' ? { logprobs: [] } : {};
    this.send(`response.${NAMES[part.kind].part}.delta`, {
      ...this.place(),
      delta: part.text,
      ...logprobs,
    });
  }

  /** Ends the open item; `incomplete` when the answer was cut off in it. */
  close(status: 'completed' | 'incomplete'): void {
    const { kind, text } = this;
    if (kind === null) return;
    const part = partOf(kind, text);
    const logprobs = kind === 'text' ? { logprobs: [] } : {};
    this.send(`response.${NAMES[kind].part}.done`, { ...this.place(), text, ...logprobs });
    this.send('response.content_part.done', { ...this.place(), part });
    const item = itemOf(kind, this.id, [part], status);
    this.send('response.output_item.done', { output_index: this.items.length, item });
    this.items.push(item);
    this.kind = null;
  }

  private begin(kind: 'text' | 'reasoning'): void {
    this.kind = kind;
    this.text = '';
    const item = itemOf(kind, this.id, [], 'in_progress');
    this.send('response.output_item.added', { output_index: this.items.length, item });
    this.send('response.content_part.added', { ...this.place(), part: partOf(kind, '') });
  }

  private call({ id: call_id, name, arguments: args }: OutputCall): void {
    const output_index = this.items.length;
    const id = `fc_${this.responseId}_${output_index}`;
    const item = { type: 'function_call', id, call_id, name, arguments: args, status: 'completed' };
    const started = { ...item, arguments: '', status: 'in_progress' };
    this.send('response.output_item.added', { output_index, item: started });
    this.send('response.function_call_arguments.delta', { item_id: id, output_index, delta: args });
    this.send('response.function_call_arguments.done', {
      item_id: id,
      output_index,
      name,
      arguments: args,
    });
    this.send('response.output_item.done', { output_index, item });
    this.items.push(item);
  }

  private get id(): string {
    return `${NAMES[this.kind ?? 'text'].prefix}_${this.responseId}_${this.items.length}`;
  }

  private place() {
    return { item_id: this.id, output_index: this.items.length, content_index: 0 };
  }
}

const NAMES = {
  text: { part: 'output_text', prefix: 'msg' },
  reasoning: { part: 'reasoning_text', prefix: 'rs' },
} as const;

function partOf(kind: 'text' | 'reasoning', text: string): object {
  if (kind === 'reasoning') return { type: 'reasoning_text', text };
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function itemOf(
  kind: 'text' | 'reasoning',
  id: string,
  content: readonly object[],
  status: string,
): ResponseItem {
  if (kind === 'reasoning') return { type: 'reasoning', id, summary: [], content, status };
  return { type: 'message', id, role: 'assistant', content, status };
}
