import type { OutputPart } from './output';

type Kind = OutputPart['kind'];

/** The parts of an answer as Anthropic's events: blocks that are opened, grow and are closed, one after the other. */
export class BlockWriter {
  private index = -1;
  private open: Kind | null = null;

  constructor(private readonly send: (type: string, value: object) => void) {}

  write(part: OutputPart): void {
    // Text and thoughts go on in their block; each call is one of its own.
    if (part.kind === 'call' || part.kind !== this.open) this.begin(part);
    this.send('content_block_delta', { index: this.index, delta: deltaOf(part) });
  }

  close(): void {
    if (this.open === null) return;
    this.send('content_block_stop', { index: this.index });
    this.open = null;
  }

  private begin(part: OutputPart): void {
    this.close();
    this.index++;
    this.open = part.kind;
    this.send('content_block_start', { index: this.index, content_block: emptyBlock(part) });
  }
}

function emptyBlock(part: OutputPart): object {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: '' };
    case 'reasoning':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'call':
      return { type: 'tool_use', id: part.call.id, name: part.call.name, input: {} };
  }
}

function deltaOf(part: OutputPart): object {
  switch (part.kind) {
    case 'text':
      return { type: 'text_delta', text: part.text };
    case 'reasoning':
      return { type: 'thinking_delta', thinking: part.text };
    case 'call':
      return { type: 'input_json_delta', partial_json: part.call.arguments };
  }
}
