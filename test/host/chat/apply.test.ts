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
