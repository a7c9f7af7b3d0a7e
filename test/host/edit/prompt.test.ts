import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { editMessages } from '../../../extension/host/edit/prompt';

const place = { path: 'src/a.ts', languageId: 'typescript', before: '', code: 'let a;', after: '' };
const asked = (changes: Partial<typeof place>): string =>
  editMessages({ ...place, ...changes }, 'Make it const.')[1]?.content ?? '';

describe('the prompt of an inline edit', () => {
  it('shows the lines, the instruction, and nothing around that is not there', () => {
    assert.equal(
      asked({}),
      'File: src/a.ts\n\nThe code to rewrite:\n```typescript\nlet a;\n```\n\nInstruction: Make it const.',
    );
  });

  it('shows whole lines of what stands around, the nearest ones', () => {
    const many = Array.from({ length: 2000 }, (_, at) => `line ${at}\n`).join('');
    const text = asked({ before: many, after: many });
    assert.match(text, /before it:\n```typescript\nline \d+\n[^]*line 1999\n```/);
    assert.match(text, /after it:\n```typescript\nline 0\n[^]*line \d+\n```/);
    assert.ok(text.length < 9000, `${text.length} characters`);
  });

  it('asks for new code at a blank line', () => {
    assert.match(
      asked({ code: '', before: 'a\n' }),
      /Write the code that belongs at this place: Make/,
    );
  });

  it('fences code that has fences of its own', () => {
    assert.match(asked({ code: '```js\nx\n```' }), /````typescript\n```js/);
  });
});
