/** Markdown of a model as blocks. What the model writes is text: no HTML, no images, no links but web and mail. */
import MarkdownIt from 'markdown-it';
import { highlight } from './highlight';

export { highlight };

export type Block =
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'code'; readonly language: string; readonly code: string };

const ALLOWED_LINK = /^(https?:\/\/|mailto:)/i;

const parser = new MarkdownIt({ html: false, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false }); // main.py is a file, not a place in Paraguay
parser.disable('image');
parser.validateLink = (url) => ALLOWED_LINK.test(url);
parser.renderer.rules['fence'] = (tokens, index) => {
  const token = tokens[index];
  const code = highlight(token?.content ?? '', languageOf(token?.info ?? ''));
  return `<pre><code>${code.join('\n')}</code></pre>`;
};
// Without href the page itself has nothing to follow: the host asks before it opens the address.
parser.renderer.rules['link_open'] = (tokens, index) => {
  const url = parser.utils.escapeHtml(String(tokens[index]?.attrGet('href') ?? ''));
  return `<a role="link" tabindex="0" data-url="${url}" title="${url}">`;
};

/** Blocks of a text that grows at its end; those that stand are not parsed again. */
export class MarkdownBlocks {
  private text = '';
  private settled: Block[] = [];
  private settledLength = 0;
  private env: Record<string, unknown> = {};

  /** All blocks of `text`. Blocks of before that did not change are the same objects. */
  update(text: string): readonly Block[] {
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
    const tail = text.slice(this.settledLength);
    const open = this.parse(tail);
    // Only the last block can still change.
    const last = open.pop();
    if (!last) return this.settled;
    this.settled = [...this.settled, ...open.map(({ block }) => block)];
    this.settledLength += offsetOfLine(tail, last.line);
    return [...this.settled, last.block];
  }

  private parse(text: string): { block: Block; line: number }[] {
    const tokens = parser.parse(text, this.env);
    const blocks: { block: Block; line: number }[] = [];
    let start = 0;
    tokens.forEach((token, index) => {
      if (token.level > 0 || token.nesting > 0) return;
      const group = tokens.slice(start, index + 1);
      const line = group[0]?.map?.[0] ?? 0;
      start = index + 1;
      const isCode = token.type === 'fence' || token.type === 'code_block';
      const block: Block = isCode
        ? { kind: 'code', language: languageOf(token.info), code: token.content.replace(/\n$/, '') }
        : { kind: 'html', html: parser.renderer.render(group, parser.options, this.env) };
      blocks.push({ block, line });
    });
    return blocks;
  }

  private reset(): void {
    this.settled = [];
    this.settledLength = 0;
    this.env = {};
  }
}

function languageOf(info: string): string {
  return /^[\w+#.-]+/.exec(info.trim())?.[0].toLowerCase() ?? '';
}

function offsetOfLine(text: string, line: number): number {
  let offset = 0;
  for (let at = 0; at < line; at++) {
    const next = text.indexOf('\n', offset);
    if (next < 0) return offset;
    offset = next + 1;
  }
  return offset;
}
