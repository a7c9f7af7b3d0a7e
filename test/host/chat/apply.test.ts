import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSensitive, planApply } from '../../../extension/host/chat/apply';

/** The document after the change; ▮ is the cursor, two of them a selection. */
function apply(marked: string, code: string): { text: string; how: string } {
  const start = marked.indexOf('▮');
  const last = marked.lastIndexOf('▮');
  const document = marked.replaceAll('▮', '');
  const plan = planApply(document, code, { start, end: last > start ? last - 1 : start });
  return {
    text: document.slice(0, plan.start) + plan.text + document.slice(plan.end),
    how: plan.how,
  };
}

const CLASS = `class Cart {
  total(items: Item[]): number {
    return 0;
  }

  add(item: Item): void {
    this.items.push(item);
  }
}
▮`;

describe('where code of an answer goes', () => {
  it('takes the place of the function with the same first line', () => {
    const code = 'total(items: Item[]): number {\n  return items.length;\n}\n';
    const { text, how } = apply(CLASS, code);
    assert.equal(how, 'anchor');
    assert.equal(text, CLASS.replace('▮', '').replace('return 0;', 'return items.length;'));
  });

  it('takes the place of a declaration whose parameters changed', () => {
    const document = 'function add(a) {\n  return a;\n}\n\nfunction sub(a) {\n  return -a;\n}\n▮';
    const { text } = apply(document, 'export function add(a, b) {\n  return a + b;\n}');
    assert.equal(
      text,
      'export function add(a, b) {\n  return a + b;\n}\n\nfunction sub(a) {\n  return -a;\n}\n',
    );
  });

  it('finds the end of a Python function by its indentation', () => {
    const document = 'def add(a, b):\n    if a:\n        return a\n\n    return b\n\nx = 1\n▮';
    const { text } = apply(document, 'def add(a, b):\n    return a + b\n');
    assert.equal(text, 'def add(a, b):\n    return a + b\n\nx = 1\n');
  });

  it('two places that fit are none: the selection is replaced, then', () => {
    const document = 'function f() {\n  a();\n}\nfunction f() {\n  ▮b();▮\n}\n';
    const { text, how } = apply(document, 'function f() {\n}');
    assert.equal(how, 'selection');
    assert.equal(text, 'function f() {\n  a();\n}\nfunction f() {\n  function f() {\n  }\n}\n');
  });

  it('goes to the cursor when it fits nowhere, as deep as its line', () => {
    const { text, how } = apply('if (x) {\n  ▮\n}\n', 'log(x);\nlog(y);');
    assert.equal(how, 'insert');
    assert.equal(text, 'if (x) {\n  log(x);\n  log(y);\n\n}\n');
  });

  it('keeps CRLF', () => {
    const { text } = apply(
      'function add(a) {\r\n  return a;\r\n}\r\n▮',
      'function add(a) {\n  return 1;\n}',
    );
    assert.equal(text, 'function add(a) {\r\n  return 1;\r\n}\r\n');
  });

  const FILE =
    "import a from 'a';\n\nfunction f() {\n  return 1;\n}\n\nfunction g() {\n  return 2;\n}\n";

  it('a whole file takes the place of the whole file', () => {
    const code = FILE.replace('return 1', 'return b(1)')
      .replace('import a', 'import { b }')
      .replace('g()', 'g(b)');
    assert.equal(apply(FILE + '▮', code).text, code);
    const header = '// Copyright\n\n';
    assert.equal(apply(header + FILE + '▮', header + code).text, header + code);
  });

  it('declarations that the code leaves out stay, and new ones follow what they follow in the code', () => {
    const code =
      "import a from 'a';\nimport b from 'b';\n\nfunction f() {\n  return 3;\n}\n\nfunction h() {\n  return 4;\n}";
    const text = FILE.replace("'a';", "'a';\nimport b from 'b';").replace(
      'return 1;\n}',
      'return 3;\n}\n\nfunction h() {\n  return 4;\n}',
    );
    assert.deepEqual(apply(FILE + '▮', code), { text, how: 'anchor' });
    const first = apply(FILE + '▮', "import a from 'a';\n\nfunction g() {\n  return 5;\n}");
    assert.equal(first.text, FILE.replace('return 2', 'return 5'));
  });

  it('braces on lines of their own, further branches and comments are part of what they belong to', () => {
    const allman = 'int F(int a)\n{\n    return a;\n}\n\nint G()\n{\n    return 1;\n}\n▮';
    assert.equal(
      apply(allman, 'int F(int a, int b)\n{\n    return b;\n}').text,
      allman.replace('▮', '').replace('a)\n{\n    return a', 'a, int b)\n{\n    return b'),
    );
    const branches = 'if ready:\n    go()\nelse:\n    wait()\nprint(1)\n▮';
    assert.equal(apply(branches, 'if ready:\n    run()').text, 'if ready:\n    run()\nprint(1)\n');
    const doc = '/** Adds. */\nfunction add(a) {\n  return a;\n}\n▮';
    const added = 'function add(a) {\n  return a + 1;\n}';
    assert.equal(apply(doc, added).text, `/** Adds. */\n${added}\n`);
    assert.equal(apply(doc, `/** Adds one. */\n${added}`).text, `/** Adds one. */\n${added}\n`);
  });

  it('takes the place of a method whose parameters changed, and of a const', () => {
    const code = 'add(item: Item, count: number): void {\n  this.items.push(item, count);\n}';
    assert.equal(
      apply(CLASS, code).text,
      CLASS.replace('▮', '')
        .replace('item: Item)', 'item: Item, count: number)')
        .replace('push(item)', 'push(item, count)'),
    );
    assert.equal(
      apply('let x = 1;\nconst limit = 5;\n▮', 'const limit = 6;').text,
      'let x = 1;\nconst limit = 6;\n',
    );
  });

  it('an import that the file has too says nothing about the rest', () => {
    const { how } = apply('import os\n\nx = 1\n▮', 'import os\nprint(os.getcwd())\nprint(2)\n');
    assert.equal(how, 'insert');
  });

  it('a selection of whole lines keeps its last end, one within a line its beginning', () => {
    assert.equal(apply('{\n▮  b();\n▮}\n', 'c();').text, '{\n  c();\n}\n');
    assert.equal(apply('{\n  return ▮a + b▮;\n}\n', 'a - b').text, '{\n  return a - b;\n}\n');
  });

  it('text before and behind the cursor keeps its lines', () => {
    assert.equal(apply('  foo();▮\n  bar();', 'log(x);').text, '  foo();\n  log(x);\n  bar();');
    assert.equal(apply('  ▮foo();\n', 'log(x);').text, '  log(x);\n  foo();\n');
    assert.equal(apply('foo();▮', 'log(x);').text, 'foo();\nlog(x);');
  });

  it('a lone brace is no anchor', () => {
    assert.equal(apply('{\n  a\n}\n▮', '{\n  b\n}').how, 'insert');
  });
});

describe('files that make programs run', () => {
  for (const path of [
    '/w/.vscode/settings.json',
    '/w/.git/hooks/pre-commit',
    'C:\\w\\.vscode\\tasks.json',
    '/home/me/.bashrc',
    '/w/package.json',
    '/w/a.code-workspace',
    '/home/me/.ssh/config',
    '/w/.devcontainer/devcontainer.json',
    '/w/.husky/pre-commit',
    '/home/me/.zshenv',
    '/home/me/.bash_login',
    '/w/.gitlab-ci.yml',
    '/w/GNUmakefile',
  ]) {
    it(path, () => assert(isSensitive(path)));
  }
  it('and none that do not', () => {
    for (const path of ['/w/src/git.ts', '/w/vscode/a.ts', '/w/my-package.json.ts']) {
      assert(!isSensitive(path), path);
    }
  });
});
