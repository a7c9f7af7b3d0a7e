import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MarkdownBlocks, type Block } from '../../webview/markdown';

const blocks = (text: string): readonly Block[] => new MarkdownBlocks('').update(text, false);
const html = (text: string): string =>
  blocks(text)
    .map((block) => (block.kind === 'html' ? block.html : `[${block.language}]${block.code}`))
    .join('');

const SAMPLE = `# Title

Text with *emphasis*
over two lines.

- one
- two

  still two

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const x = 1;

const y = 2;
\`\`\`

> quote

1. first
   \`\`\`py
   print(1)
   \`\`\`

The [end][ref].

[ref]: https://example.com
`;

describe('markdown of a model', () => {
  it('gives the same blocks however the text comes in', () => {
    const whole = blocks(SAMPLE.replace(/\[ref\]: .*\n$/, ''));
    for (const size of [1, 7, 40]) {
      const growing = new MarkdownBlocks('');
      let last: readonly Block[] = [];
      const text = SAMPLE.replace(/\[ref\]: .*\n$/, '');
      for (let at = size; at < text.length + size; at += size) {
        last = growing.update(text.slice(0, at), true);
      }
      assert.deepEqual(last, whole, `${size} characters at a time`);
    }
    assert.deepEqual(
      whole.map(({ kind }) => kind),
      ['html', 'html', 'html', 'html', 'code', 'html', 'html', 'html'],
    );
  });

  for (const text of [
    'see\n#foo and more\n\nend',
    'see\n```a``` and more\n\nend',
    'see\n***bold*** and more\n\nend',
    'see\n~~~~ and\n~~~ more\n~~~~\nend',
    '- one\n\n  ```md\n  ```` x\n  ```\n- two\n-- three',
    '````md\n```ts\nx\n```\n````\nend 👩‍👩‍👧 now',
    'a | b\n--- | ---\n1 | 2\n|3|4|\nend\n===\nx',
  ]) {
    it(`takes no half of a line for another thing: ${JSON.stringify(text)}`, () => {
      const growing = new MarkdownBlocks('');
      let last: readonly Block[] = [];
      for (let at = 1; at <= text.length; at++) last = growing.update(text.slice(0, at), true);
      assert.deepEqual(last, blocks(text));
    });
  }

  it('a link has the address that follows it once the text is whole', () => {
    const growing = new MarkdownBlocks('');
    const text = 'The [end][ref].\n\nMore.\n\n[ref]: https://example.com\n';
    growing.update(text.slice(0, 30), true);
    growing.update(text, true);
    const [first] = growing.update(text, false);
    assert.match(JSON.stringify(first), /data-url/);
    assert.equal(growing.update(text, false)[0], first);
  });

  it('columns are aligned, lists run as their letters do, and nothing has a style', () => {
    const page = html('| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n- פריט\n\n> quote');
    assert.match(page, /<table dir="auto">[^]*<td class="center">1<[^]*<td class="right">2</);
    assert.match(page, /<ul dir="auto">[^]*<blockquote dir="auto">/);
    assert.doesNotMatch(page, /style=/);
  });

  it('code within a list has the buttons that other code has', () => {
    const list = '1. Install:\n   ```sh\n   npm i <x>\n   ```\n';
    const [block] = new MarkdownBlocks('<span>TOOLS</span>').update(list, false);
    assert.match(JSON.stringify(block), /data-language=.{1,2}sh.*TOOLS.*npm i &lt;x&gt;/);
  });

  it('leaves blocks that stand as they are, the same objects', () => {
    const growing = new MarkdownBlocks('');
    const [first] = growing.update('One.\n\nTwo\n', true);
    const [again, second] = growing.update('One.\n\nTwo\n\nThree\n', true);
    assert.equal(again, first);
    assert.equal(growing.update('One.\n\nTwo\n\nThree\nand four', true)[1], second);
  });

  it('begins anew when the text is another one', () => {
    const growing = new MarkdownBlocks('');
    growing.update('One.\n\nTwo.\n\n', true);
    assert.match(
      JSON.stringify(growing.update('Other.', true)),
      /^\[\{"kind":"html","html":"<p>Other/,
    );
  });

  it('code that is still being written is code', () => {
    assert.deepEqual(blocks('See:\n\n```python\nx = 1\ny'), [
      { kind: 'html', html: '<p>See:</p>\n' },
      { kind: 'code', language: 'python', code: 'x = 1\ny' },
    ]);
  });

  for (const text of [
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)>',
    '<iframe src="https://example.com"></iframe>',
    '<style>*{color:red}</style>',
    '<script>alert(1)</script>',
    '<a href="javascript:alert(1)">x</a>',
    '<link rel=prefetch href=https://evil.example>',
  ]) {
    it(`shows ${text} as text`, () => {
      assert.doesNotMatch(html(text), /<(img|svg|iframe|style|script|link)\b/);
      assert.match(html(text), /&lt;/);
    });
  }

  for (const url of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    'javascript&colon;alert(1)',
    '&#106;avascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'command:workbench.action.terminal.sendSequence?%7B%7D',
    'vscode://file/etc/passwd',
    'file:///etc/passwd',
    '//evil.example',
    '../settings.json',
  ]) {
    it(`makes no link of ${JSON.stringify(url)}`, () => {
      for (const text of [`[x](${url})`, `[x](<${url}>)`, `<${url}>`, `[x][r]\n\n[r]: ${url}`]) {
        assert.doesNotMatch(html(text), /<a\b/, text);
      }
    });
  }

  it('links to the web and to mail, without an address that the page could follow', () => {
    for (const url of [
      'https://example.com/a?b=c',
      'http://example.com/',
      'mailto:me@example.com',
    ]) {
      const link = html(`[x](${url})`);
      assert.match(link, /<a role="link" tabindex="0" data-url="/);
      assert.doesNotMatch(link, /href/);
    }
    assert.match(html('see https://example.com now'), /data-url="https:\/\/example\.com"/);
    assert.doesNotMatch(html('main.py and www.example.com'), /<a\b/);
  });

  it('fetches no picture', () => {
    for (const text of [
      '![x](https://evil.example/?q=SECRET)',
      '![x][r]\n\n[r]: https://evil.example/a.png',
    ]) {
      assert.doesNotMatch(html(text), /<img|src=/);
    }
  });

  it('escapes code, highlighted or not, and what stands behind the fence', () => {
    for (const language of ['html', 'nonsense', '"><img>']) {
      const [block] = blocks('```' + language + '\n<b>\n```');
      assert.equal(block?.kind, 'code');
      assert.doesNotMatch(html('- a\n  ```' + language + '\n  <b>\n  ```'), /<b>|<img/);
    }
  });
});
