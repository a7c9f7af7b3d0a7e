import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CompletionRequest } from '../../../extension/protocol/completion';
import { accept } from './marked';

/** What stands in the document, what the model writes, what the document is after accepting (or why nothing shows). */
interface Case {
  readonly name: string;
  readonly at: string;
  readonly writes: string;
  readonly want: string;
  readonly options?: Partial<CompletionRequest> & { readonly end?: 'model' | 'length' };
}

const python = { languageId: 'python', tabSize: 4 } as const;
const c = { languageId: 'c', tabSize: 4 } as const;
const length = { end: 'length' } as const;

const tables: Readonly<Record<string, readonly Case[]>> = {
  'one line': [
    {
      name: 'ends at the end of the line',
      at: 'const x = ▮\n',
      writes: '42;\nconst y = 43;\n',
      want: 'const x = 42;▮\n',
    },
    {
      name: 'ends with the model',
      at: 'const x = ▮\nfoo();\n',
      writes: '42;',
      want: 'const x = 42;▮\nfoo();\n',
    },
    {
      name: 'loses blanks at its end',
      at: 'const x = ▮\n',
      writes: '42;   \n',
      want: 'const x = 42;▮\n',
    },
    {
      name: 'does not double the blank before the cursor',
      at: 'return ▮\n',
      writes: ' value;',
      want: 'return value;▮\n',
    },
    {
      name: 'keeps a blank that the document lacks',
      at: 'return▮\n',
      writes: ' value;',
      want: 'return value;▮\n',
    },
    {
      name: 'is nothing when the model wants a new line',
      at: 'foo();▮\n',
      writes: '\nbar();\n',
      want: 'model_silent',
    },
    {
      name: 'is nothing when the model is silent',
      at: 'foo();▮\n',
      writes: '',
      want: 'model_silent',
    },
    {
      name: 'is nothing when only blanks come',
      at: 'foo();▮\n',
      writes: '   ',
      want: 'model_silent',
    },
    {
      name: 'may be a short closer',
      at: 'app.get("/", (req) => {\n  done();\n▮',
      writes: '})',
      want: 'app.get("/", (req) => {\n  done();\n})▮',
    },
    {
      name: 'may contain // and ``` and </',
      at: 'const url = ▮\n',
      writes: '"https://example.com/```</a>";\n',
      want: 'const url = "https://example.com/```</a>";▮\n',
    },
    {
      name: 'may look like a control token: it is text',
      at: 'const pad = ▮\n',
      writes: '"<|fim_pad|>";\n',
      want: 'const pad = "<|fim_pad|>";▮\n',
    },
    {
      name: 'keeps non-ASCII text and emoji',
      at: 'const s = ▮\n',
      writes: '"判断 👩‍💻 é";\n',
      want: 'const s = "判断 👩‍💻 é";▮\n',
    },
    {
      name: 'is nothing when the limit comes before the end of the line',
      at: 'const x = ▮\n',
      writes: 'some.very(long',
      want: 'cut_off',
      options: length,
    },
    {
      name: 'of prose that the limit cuts ends with a whole word',
      at: 'The engine ▮\n',
      writes: 'reads the weights once and keeps th',
      want: 'The engine reads the weights once and keeps▮\n',
      options: { languageId: 'markdown', ...length },
    },
    {
      name: 'goes on in a comment',
      at: '// sort ▮\nlist.sort();\n',
      writes: 'the list by date\n// and name\n',
      want: '// sort the list by date▮\nlist.sort();\n',
    },
    {
      name: 'stays one line in mode never, also where a block opens',
      at: 'function f() {▮\n}\n',
      writes: ' return 1;\n  more();\n',
      want: 'function f() { return 1;▮\n}\n',
      options: { multiline: 'never' },
    },
  ],

  'before the rest of the line': [
    {
      name: 'writes the closer that the editor inserted: one stays',
      at: 'console.log(▮)\n',
      writes: "'hello')\nfoo();",
      want: "console.log('hello'▮)\n",
    },
    {
      name: 'does not write it: it still stands',
      at: 'console.log(▮)\n',
      writes: "'hello'",
      want: "console.log('hello'▮)\n",
    },
    {
      name: 'goes on behind the closer',
      at: 'console.log(▮)\n',
      writes: "'hello');\n",
      want: "console.log('hello');▮\n",
    },
    {
      name: 'ends the statement that the document ends',
      at: 'console.log(▮);\n',
      writes: "'hello');\n",
      want: "console.log('hello'▮);\n",
    },
    {
      name: 'in a string with quote and bracket behind',
      at: 'console.log("▮");\n',
      writes: 'hello");\nfoo();',
      want: 'console.log("hello▮");\n',
    },
    {
      name: 'puts another argument before the inserted bracket',
      at: 'console.log("▮")\n',
      writes: 'hello", x);\n',
      want: 'console.log("hello", x);▮\n',
    },
    {
      name: 'stops before the next argument',
      at: 'foo(▮, b);\n',
      writes: 'a, b);\n',
      want: 'foo(a▮, b);\n',
    },
    { name: 'before an argument', at: 'foo(▮, b);\n', writes: 'a', want: 'foo(a▮, b);\n' },
    {
      name: 'a letter in common is no repetition',
      at: 'foo(▮ before);\n',
      writes: 'a, b',
      want: 'foo(a, b▮ before);\n',
    },
    {
      name: 'is only what stands there',
      at: 'console.log(▮)\n',
      writes: ')',
      want: 'repeats_suffix',
    },
    {
      name: 'repeats the rest of the line',
      at: 'const a = ▮compute(b);\n',
      writes: 'compute(b);',
      want: 'repeats_suffix',
    },
    {
      name: 'is one line before other text',
      at: 'x = ▮ + 1;\n',
      writes: 'a\n  + b\n',
      want: 'x = a▮ + 1;\n',
    },
    {
      name: 'keeps what follows in a tag',
      at: '<button onC▮></button>\n',
      writes: 'lick={() => go()}></button>',
      want: '<button onClick={() => go()}▮></button>\n',
      options: { languageId: 'typescriptreact' },
    },
    {
      name: 'blanks right of the cursor do no harm',
      at: 'if len(arr) <= 1:\n        return arr\n    ▮    \n    left = [x for x in arr if x < pivot]',
      writes: 'pivot = arr[len(arr) // 2]\n    left = [x for x in arr if x < pivot]\n',
      want: 'if len(arr) <= 1:\n        return arr\n    pivot = arr[len(arr) // 2]▮    \n    left = [x for x in arr if x < pivot]',
      options: python,
    },
    {
      name: 'a function inside the inserted bracket',
      at: 'list.map(▮)\n',
      writes: '(x) => {\n  return x;\n})\n',
      want: 'list.map((x) => {\n  return x;\n}▮)\n',
    },
  ],

  'never repeats the lines below': [
    {
      name: 'stops before the next line',
      at: 'void main() {\n    FILE *f = fopen("file", "rb");\n    ▮\n    fclose(f);\n}',
      writes: 'read(f);\n    fclose(f);\n}\n',
      want: 'void main() {\n    FILE *f = fopen("file", "rb");\n    read(f);▮\n    fclose(f);\n}',
      options: c,
    },
    {
      name: 'is nothing when it is the next line',
      at: 'void main() {\n    ▮\n    fclose(f);\n}',
      writes: 'fclose(f);\n}',
      want: 'repeats_suffix',
      options: c,
    },
    {
      name: 'looks past blank lines',
      at: 'a();\n▮\n\n\nb();\n',
      writes: 'b();\n',
      want: 'repeats_suffix',
    },
    {
      name: 'the whole line counts, not only the part after the cursor',
      at: 'const first = ▮\nconst first = 1;\n',
      writes: '1;\n',
      want: 'repeats_suffix',
    },
    {
      name: 'stops before the line after the next',
      at: 'start();\n▮\nlog();\nfinishAllOfTheWork();\n',
      writes: 'middle();\nfinishAllOfTheWork();\n',
      want: 'start();\nmiddle();▮\nlog();\nfinishAllOfTheWork();\n',
    },
    {
      name: 'parallel lines are no repetition',
      at: 'a.x = b.x;\na.y = ▮\na.z = b.z;\n',
      writes: 'b.y;\n',
      want: 'a.x = b.x;\na.y = b.y;▮\na.z = b.z;\n',
    },
    {
      name: 'a bracket below is no line to compare with',
      at: 'if (a) {\n  b();\n  if (c) {\n    ▮\n}\n',
      writes: 'd();\n  }\n',
      want: 'if (a) {\n  b();\n  if (c) {\n    d();\n  }▮\n}\n',
    },
  ],

  'brackets and quotes': [
    {
      name: 'leaves the bracket that stands below',
      at: 'function f(a) {\n  ▮\n}\n',
      writes: 'return a;\n}\n\nfunction g() {',
      want: 'function f(a) {\n  return a;▮\n}\n',
    },
    {
      name: 'writes the bracket that is missing',
      at: 'function f(a) {\n  ▮\n',
      writes: 'return a;\n}\n\nfunction g() {',
      want: 'function f(a) {\n  return a;\n}▮\n',
    },
    {
      name: 'closes the inner block when only the outer one is closed below',
      at: 'class A {\n  f() {\n    ▮\n}\n',
      writes: 'return 1;\n  }\n}\n',
      want: 'class A {\n  f() {\n    return 1;\n  }▮\n}\n',
    },
    {
      name: 'closes what it opened in the line',
      at: 'const x = ▮\n',
      writes: 'foo(bar[0',
      want: 'const x = foo(bar[0])▮\n',
    },
    {
      name: 'closes a block that the limit cut',
      at: 'const x = ▮\n',
      writes: 'foo({\n  a: 1,\n  b: lon',
      want: 'const x = foo({\n  a: 1,\n})▮\n',
      options: length,
    },
    {
      name: 'closes each block at its own indentation',
      at: 'run▮\n',
      writes: '(() => {\n  if (a) {\n    b();\n    c(',
      want: 'run(() => {\n  if (a) {\n    b();\n  }\n})▮\n',
      options: length,
    },
    {
      name: 'does not close what waits below',
      at: 'if (a) ▮\n  b();\n}\n',
      writes: '{\n  c();\n}\n',
      want: 'if (a) {▮\n  b();\n}\n',
    },
    {
      name: 'closes its own string',
      at: 'const x = ▮\n',
      writes: '"abc',
      want: 'const x = "abc"▮\n',
    },
    {
      name: 'closes string, then call',
      at: 'require▮\n',
      writes: "('fs",
      want: "require('fs')▮\n",
    },
    {
      name: 'a bracket in a string is text',
      at: 'const x = ▮\n',
      writes: '":) {[";\n',
      want: 'const x = ":) {[";▮\n',
    },
    {
      name: 'a bracket in a comment is text',
      at: 'foo();▮\n',
      writes: ' // a) b} c]\n',
      want: 'foo(); // a) b} c]▮\n',
    },
    {
      name: 'a bracket in a regular expression is text',
      at: 'const r = ▮\n',
      writes: '/[({]/.test(s);\n',
      want: 'const r = /[({]/.test(s);▮\n',
    },
    {
      name: 'a quote as a character is text',
      at: 'let c = ▮\n',
      writes: `'"';\n`,
      want: `let c = '"';▮\n`,
      options: { languageId: 'rust' },
    },
    {
      name: 'a lifetime opens no string',
      at: 'fn f▮\n',
      writes: "<'a>(x: &'a str) -> &'a str\n",
      want: "fn f<'a>(x: &'a str) -> &'a str▮\n",
      options: { languageId: 'rust' },
    },
    {
      name: 'drops a bracket that nothing opened',
      at: 'const x = ▮\n',
      writes: 'a));\n',
      want: 'const x = a▮\n',
    },
    {
      name: 'is nothing when it is only such a bracket',
      at: 'foo();\n▮\n',
      writes: '}\n',
      want: 'unbalanced',
    },
    {
      name: 'an apostrophe in prose opens nothing',
      at: 'It▮\n',
      writes: "'s a test (of sorts\n",
      want: "It's a test (of sorts)▮\n",
      options: { languageId: 'markdown' },
    },
    {
      name: 'an object in a call',
      at: 'foo(▮)\n',
      writes: '{ a: 1, b: [2] })\n',
      want: 'foo({ a: 1, b: [2] }▮)\n',
    },
    {
      name: 'a body inside the pair that the editor inserted',
      at: 'function f(a) {▮}\n',
      writes: '\n  return a;\n}\n\nfunction g() {',
      want: 'function f(a) {\n  return a;\n▮}\n',
    },
    {
      name: 'the same when the model leaves the bracket out',
      at: '  function f(a) {▮}\n',
      writes: '\n    return a;',
      want: '  function f(a) {\n    return a;\n  ▮}\n',
    },
  ],

  'above what is written already': [
    {
      name: 'a header whose body stands below stays open',
      at: 'for (;;) {\n  if (done▮\n    break;\n  }\n}\n',
      writes: ') {\n    break;\n',
      want: 'for (;;) {\n  if (done) {▮\n    break;\n  }\n}\n',
    },
    {
      name: 'the same in a call',
      at: "describe('a', () => {\n  it(▮\n    const x = 1;\n  });\n});\n",
      writes: "'b', () => {\n    foo();\n",
      want: "describe('a', () => {\n  it('b', () => {▮\n    const x = 1;\n  });\n});\n",
    },
    {
      name: 'an argument list that goes on below',
      at: '  return f(g▮\n             b));\n',
      writes: '("%s",\n',
      want: '  return f(g("%s",▮\n             b));\n',
      options: c,
    },
    {
      name: 'a closing bracket that is opened again',
      at: 'const create = () => (set▮\n  fishes: 0,\n})\n',
      writes: ') => ({\n  fishes: 0,',
      want: 'const create = () => (set) => ({▮\n  fishes: 0,\n})\n',
    },
    {
      name: 'a function in Python',
      at: 'class A:\n    def f(self)▮\n        return 1\n',
      writes: ':\n        return 2\n',
      want: 'class A:\n    def f(self):▮\n        return 1\n',
      options: python,
    },
    {
      name: 'columns keep their blanks',
      at: '  left          int\n  width     ▮\n  height        int\n',
      writes: '    int\n',
      want: '  left          int\n  width         int▮\n  height        int\n',
      options: { languageId: 'go' },
    },
  ],

  blocks: [
    {
      name: 'the body of a function, then no more',
      at: 'def f(x):▮\n',
      writes: '\n    return x\n\ndef g():\n    pass\n',
      want: 'def f(x):\n    return x▮\n',
      options: python,
    },
    {
      name: 'ends where the text leaves the block',
      at: 'def f(x):\n    ▮\n',
      writes: 'y = x\n    return y\nprint(f(1))\n',
      want: 'def f(x):\n    y = x\n    return y▮\n',
      options: python,
    },
    {
      name: 'one method, not the whole file',
      at: 'class SignUtil {\n\n  // 判断一个字符串是否为回文字符串▮\n\n  /** next */\n}',
      writes: '\n  boolean is() {\n  }\n',
      want: 'model_silent',
      options: { languageId: 'java' },
    },
    {
      name: 'after a comment, the statement that it asks for',
      at: '// add two numbers\n▮\n',
      writes: 'function add(a, b) {\n  return a + b;\n}\n\n// next\nfunction sub() {}\n',
      want: '// add two numbers\nfunction add(a, b) {\n  return a + b;\n}▮\n',
    },
    {
      name: 'statements end at a blank line',
      at: 'f();\n▮\n',
      writes: 'a();\nb();\n\nc();\n',
      want: 'f();\na();\nb();▮\n',
    },
    {
      name: 'a blank line inside a function stays',
      at: '▮\n',
      writes: 'function f() {\n  a();\n\n  b();\n}\n',
      want: 'function f() {\n  a();\n\n  b();\n}▮\n',
    },
    {
      name: 'two blank lines end a body',
      at: 'function f() {▮',
      writes: '\n  a();\n\n\n  b();\n}\n',
      want: 'function f() {\n  a();▮',
    },
    {
      name: 'blank lines before the first word go',
      at: 'function f() {▮',
      writes: '\n\n\n  a();\n}\n',
      want: 'function f() {\n  a();\n}▮',
    },
    {
      name: 'a line that opens a block brings it',
      at: 'for▮\n',
      writes: ' (const x of xs) {\n  go(x);\n}\nend();\n',
      want: 'for (const x of xs) {\n  go(x);\n}▮\n',
    },
    {
      name: 'an if with its else',
      at: 'if (a) {▮',
      writes: '\n  b();\n} else {\n  c();\n}\nd();\n',
      want: 'if (a) {\n  b();\n} else {\n  c();\n}▮',
    },
    {
      name: 'an else in Python',
      at: 'x = 1\n▮\n',
      writes: 'if a:\n    b()\nelse:\n    c()\nd()\n',
      want: 'x = 1\nif a:\n    b()\nelse:\n    c()▮\n',
      options: python,
    },
    {
      name: 'a header whose body never came is left out',
      at: 'a()\n▮\n',
      writes: 'b()\nif c:\n    d(',
      want: 'a()\nb()▮\n',
      options: { ...python, ...length },
    },
    {
      name: 'a statement that the limit cut is left out',
      at: 'a();\n▮\n',
      writes: 'b();\nccc',
      want: 'a();\nb();▮\n',
      options: length,
    },
    {
      name: 'an argument list over lines',
      at: 'foo(▮\n',
      writes: '\n  a,\n  b,\n);\nbar();\n',
      want: 'foo(\n  a,\n  b,\n);▮\n',
    },
    {
      name: 'one line when the header is finished on it',
      at: 'if x:▮\n',
      writes: ' return 1\nelse:\n    pass\n',
      want: 'if x: return 1▮\n',
      options: python,
    },
    {
      name: 'a block of words ends with its word',
      at: 'def f(x)▮\n',
      writes: '\n  x + 1\nend\n\ndef g\nend\n',
      want: 'def f(x)\n  x + 1\nend▮\n',
      options: { languageId: 'ruby' },
    },
    {
      name: 'the word that stands below is not repeated',
      at: 'def f(x)\n  ▮\nend\n',
      writes: 'x + 1\nend\n',
      want: 'def f(x)\n  x + 1▮\nend\n',
      options: { languageId: 'ruby' },
    },
    {
      name: 'a shell block',
      at: 'if [ -f x ]; then▮\n',
      writes: '\n  cat x\nfi\necho done\n',
      want: 'if [ -f x ]; then\n  cat x\nfi▮\n',
      options: { languageId: 'shellscript' },
    },
    {
      name: 'a docstring may leave the indentation',
      at: 'def f():\n    ▮\n',
      writes: '"""One.\n\nTwo.\n"""\n    return 1\n\nx\n',
      want: 'def f():\n    """One.\n\nTwo.\n"""\n    return 1▮\n',
      options: python,
    },
    {
      name: 'the rest of a block when the caret is at the margin',
      at: 'def f(x):\n▮\n',
      writes: '    return x\n\ny\n',
      want: 'def f(x):\n    return x▮\n',
      options: python,
    },
    {
      name: 'closing the outer block needs it open',
      at: 'if (a) {\n  b();\n▮\nc();\n',
      writes: '} else {\n  d();\n}\nc();\n',
      want: 'if (a) {\n  b();\n} else {\n  d();\n}▮\nc();\n',
    },
    {
      name: 'mode always goes on after the line',
      at: 'a = 1;▮\n',
      writes: ' // one\nb = 2;\n\nc = 3;\n',
      want: 'a = 1; // one\nb = 2;▮\n',
      options: { multiline: 'always' },
    },
  ],

  indentation: [
    {
      name: 'the caret has it already',
      at: 'function f() {\n  ▮\n}\n',
      writes: '  return 1;\n}\n',
      want: 'function f() {\n  return 1;▮\n}\n',
    },
    {
      name: 'off by one blank',
      at: 'function f() {\n    ▮\n}\n',
      writes: ' return 1;\n',
      want: 'function f() {\n    return 1;▮\n}\n',
      options: { tabSize: 4 },
    },
    {
      name: 'the caret has half of it',
      at: 'def f():\n    if x:\n    ▮\n',
      writes: '    return 1\n',
      want: 'def f():\n    if x:\n        return 1▮\n',
      options: python,
    },
    {
      name: 'the first line after a new line',
      at: '  if (x) {\n    ▮\n',
      writes: '\n    y();\n',
      want: '  if (x) {\n    y();▮\n',
    },
    {
      name: 'tabs become blanks',
      at: 'function f() {▮\n',
      writes: '\n\treturn {\n\t\ta: 1,\n\t};\n}\n',
      want: 'function f() {\n  return {\n    a: 1,\n  };\n}▮\n',
    },
    {
      name: 'blanks become tabs',
      at: 'func main() {▮\n',
      writes: '\n    if x {\n        y()\n    }\n}\n',
      want: 'func main() {\n\tif x {\n\t\ty()\n\t}\n}▮\n',
      options: { languageId: 'go', tabSize: 4, insertSpaces: false },
    },
    {
      name: 'a tab at the start of a line of text is not the line',
      at: 'x = 1▮\n',
      writes: '\t# one\n',
      want: 'x = 1\t# one▮\n',
      options: python,
    },
  ],

  'line ends': [
    {
      name: 'CRLF in the document makes the same suggestion',
      at: 'function f(a) {\r\n  ▮\r\n}\r\n',
      writes: 'b();\r\n  return a;\r\n}\r\n',
      want: 'function f(a) {\r\n  b();\n  return a;▮\r\n}\r\n',
    },
    {
      name: 'CRLF behind the cursor is no rest of the line',
      at: 'a = ▮\r\nb = 2;\r\n',
      writes: '1;\r\nb = 2;',
      want: 'a = 1;▮\r\nb = 2;\r\n',
    },
  ],

  loops: [
    {
      name: 'the same line over and over',
      at: 'const list = [▮\n',
      writes: '\n' + '  "one",\n'.repeat(20),
      want: 'const list = [\n  "one",▮\n',
    },
    {
      name: 'a group of lines over and over',
      at: 'x();\n▮\n',
      writes: 'if (isA(x)) {\n  one();\n' + 'a1();\nb1();\n'.repeat(9),
      want: 'x();\nif (isA(x)) {\n  one();\n}▮\n',
    },
    {
      name: 'the line above again and again',
      at: 'push(1);\n▮\n',
      writes: 'push(1);\n'.repeat(5),
      want: 'repeats_itself',
    },
    {
      name: 'within a line that never ends',
      at: 'one two three one two ▮',
      writes: 'three one two '.repeat(100),
      want: 'one two three one two three one two▮',
      options: { languageId: 'plaintext', ...length },
    },
    {
      name: 'within a line',
      at: 'const s = ▮\n',
      writes: '"' + 'abc, '.repeat(40),
      want: 'const s = "abc,"▮\n',
    },
    {
      name: 'closing brackets in a row are no loop',
      at: 'x = ▮\n',
      writes: '{\n  a: {\n    b: {\n      c: {\n        d: 1,\n      },\n    },\n  },\n};\n',
      want: 'x = {\n  a: {\n    b: {\n      c: {\n        d: 1,\n      },\n    },\n  },\n};▮\n',
    },
    {
      name: 'a row of dashes is no loop',
      at: '// ▮\n',
      writes: '-'.repeat(60) + '\n',
      want: '// ' + '-'.repeat(60) + '▮\n',
    },
  ],
};

for (const [title, cases] of Object.entries(tables)) {
  describe(`shape: ${title}`, () => {
    for (const { name, at, writes, want, options } of cases) {
      it(name, () => assert.equal(accept(at, writes, options), want));
    }
  });
}
