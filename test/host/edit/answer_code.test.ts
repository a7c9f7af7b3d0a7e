import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codeOf, indentLike } from '../../../extension/host/edit/answer_code';

describe('the code of an answer', () => {
  it('is what the first fence holds, whatever stands around it', () => {
    const answer = 'Sure:\n\n```ts\nconst a = 1;\n\nconst b = 2;\n```\nDone.\n```\nother\n```';
    assert.equal(codeOf(answer, true), 'const a = 1;\n\nconst b = 2;');
    assert.equal(codeOf('~~~py\nx\n~~~\n', true), 'x');
    assert.equal(codeOf('````md\n```js\nx\n```\n````', true), '```js\nx\n```');
  });

  it('goes on behind a block that it holds, as Markdown does', () => {
    const inner = '# Use\n\n```sh\nnpm test\n```\n\nThat is all.';
    assert.equal(codeOf(`\`\`\`markdown\n${inner}\n\`\`\`\nDone.`, true), inner);
    const growing = codeOf(`\`\`\`markdown\n${inner.slice(0, -5)}`, false);
    assert.equal(growing, '# Use\n\n```sh\nnpm test\n```\n');
    assert.equal(codeOf("```py\nx = '''\n```'''\n```", true), "x = '''\n```'''");
  });

  it('is all of an answer without a fence, once it is whole', () => {
    assert.equal(codeOf('  return 1;\n', false), null);
    assert.equal(codeOf('\n  return 1;\n', true), '  return 1;');
    assert.equal(codeOf(' \n', true), null);
  });

  it('grows by whole lines, and never by half of a closing fence', () => {
    const answer = 'Here:\n```ts\nlet a = 1;\nlet b = 2;\n```';
    const seen = new Set<string | null>();
    for (let end = 0; end <= answer.length; end++) seen.add(codeOf(answer.slice(0, end), false));
    assert.deepEqual([...seen], [null, 'let a = 1;', 'let a = 1;\nlet b = 2;']);
  });

  it('ends where the answer ends when the fence was never closed', () => {
    assert.equal(codeOf('```ts\nlet a = 1;\nlet b', true), 'let a = 1;\nlet b');
  });

  it('gets back the indentation that the model left out, and keeps what it has', () => {
    const old = '    if (a) {\n      b();\n    }';
    assert.equal(indentLike('if (c) {\n\n  b();\n}', old), '    if (c) {\n\n      b();\n    }');
    assert.equal(indentLike('    if (c) {}', old), '    if (c) {}');
    assert.equal(indentLike('      if (c) {}', old), '      if (c) {}');
    assert.equal(indentLike('\tif (c) {}', old), '\tif (c) {}');
    assert.equal(indentLike('b();\nc();', '    '), '    b();\n    c();', 'on a blank line');
    assert.equal(indentLike('b();', ''), 'b();');
  });
});
