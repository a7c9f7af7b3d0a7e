/** Markdown of a model as blocks. What the model writes is text: no HTML, no images, no links but web and mail. */
import MarkdownIt from 'markdown-it';
import { highlight } from './highlight';

export { highlight };

export type Block =
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'code'; readonly language: string; readonly code: string };

/** What the parser is given beside the text; it keeps the addresses of links in it. */
type Env = Record<PropertyKey, unknown>;
const TOOLBAR = 'toolbar';

const ALLOWED_LINK = /^(https?:\/\/|mailto:)/i;

const parser = new MarkdownIt({ html: false, linkify: true });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false }); // main.py is a file, not a place in Paraguay
parser.disable('image');
parser.validateLink = (url) => ALLOWED_LINK.test(url);
/** Lists, quotations and tables run as their letters do; columns are aligned by class, since the page takes no styles. */
parser.core.ruler.push('anllm_blocks', ({ tokens }) => {
  for (const token of tokens) {
    if (/^(bullet_list|ordered_list|blockquote|table)_open$/.test(token.type)) {
      token.attrSet('dir', 'auto');
    } else if (/^t[hd]_open$/.test(token.type)) {
      const [, side] = /^text-align:(\w+)$/.exec(String(token.attrGet('style') ?? '')) ?? [];
      token.attrs = side === undefined ? null : [['class', side]];
    }
  }
});
/** Code within a list or a quotation; other code is a block of its own. */
parser.renderer.rules['fence'] = parser.renderer.rules['code_block'] = (tokens, index, _, env) => {
  const { content = '', info = '' } = tokens[index] ?? {};
  const language = languageOf(info);
  const code = highlight(content, language).join('\n');
  const name = parser.utils.escapeHtml(language);
  return (
    `<figure class="code-block" data-language="${name}">` +
    `<figcaption><span class="language">${name}</span>${String(env?.[TOOLBAR])}</figcaption>` +
    `<pre tabindex="0"><code>${code}</code></pre></figure>`
  );
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
  /** Of a text that has come to its end. */
  private whole: readonly Block[] | null = null;
  private env: Env;

  /** @param toolbar HTML above code within a list or a quotation */
  constructor(private readonly toolbar: string) {
    this.env = { [TOOLBAR]: toolbar };
  }

  /**
   * All blocks of `text`. While more may come, blocks of before that did not change are the same objects, and a link may
   * lack the address that follows it; the whole text is read anew.
   */
  update(text: string, isOpen: boolean): readonly Block[] {
    if (text === this.text && this.whole) return this.whole;
    if (!text.startsWith(this.text) || !isOpen) this.reset();
    this.text = text;
    if (!isOpen) return (this.whole = this.parse(text).map(({ block }) => block));
    const tail = text.slice(this.settledLength);
    const found = this.parse(tail);
    // What a line begins is known when the line has ended, so the last block can still change, and with it the one before.
    const isSure = (found.at(-1)?.line ?? 0) < tail.split('\n').length - 1;
    const open = found.splice(isSure ? -1 : -2);
    const [next] = open;
    if (!next) return this.settled;
    this.settled = [...this.settled, ...found.map(({ block }) => block)];
    this.settledLength += offsetOfLine(tail, next.line);
    return [...this.settled, ...open.map(({ block }) => block)];
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
    this.whole = null;
    this.settled = [];
    this.settledLength = 0;
    this.env = { [TOOLBAR]: this.toolbar };
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
