import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { complete } from '../../../extension/engine/completion/complete';
import type { CompletionEngine } from '../../../extension/engine/completion/engine';
import { EngineError } from '../../../extension/engine/errors';
import type { CompletionPartial } from '../../../extension/protocol/completion';
import type { GenerateRequest } from '../../../extension/engine/generation/types';
import { requestAt } from './marked';
import { fim, tokenizer } from './sprout';

/** An engine whose model writes `text`, a character at a time. */
class ScriptedEngine implements CompletionEngine {
  readonly info = { contextLength: 2048 };
  readonly tokenizer = tokenizer;
  readonly fim = fim;
  request: GenerateRequest | null = null;
  written = '';

  constructor(
    private readonly text: string,
    private readonly finish: 'stop' | 'length' = 'stop',
  ) {}

  async generate(request: GenerateRequest) {
    this.request = request;
    let finishReason: 'stop' | 'length' | 'cancelled' = this.finish;
    for (const char of this.text) {
      if (request.signal?.aborted) {
        finishReason = 'cancelled';
        break;
      }
      this.written += char;
      if (request.onText?.(char) === false) {
        finishReason = 'stop';
        break;
      }
    }
    return {
      text: this.written,
      ids: [1, 2, 3],
      finishReason,
      promptTokens: request.ids.length,
      cachedTokens: 7,
      timings: { queueMs: 1, prefillMs: 2, decodeMs: 3 },
    };
  }
}

describe('complete', () => {
  it('gives text, numbers and times', async () => {
    const engine = new ScriptedEngine('42;\nmore');
    const { timings, ...result } = await complete(engine, requestAt('const x = ▮\n'));
    assert.deepEqual(result, {
      text: '42;',
      replaceAfter: 0,
      reason: null,
      stop: 'line',
      promptTokens: engine.request?.ids.length,
      cachedTokens: 7,
      generatedTokens: 3,
    });
    assert.deepEqual([timings.queueMs, timings.prefillMs, timings.decodeMs], [1, 2, 3]);
  });

  it('stops the generation as soon as the suggestion is whole', async () => {
    const engine = new ScriptedEngine('42;\n' + 'more\n'.repeat(100));
    await complete(engine, requestAt('const x = ▮\n'));
    assert.equal(engine.written, '42;\n');
  });

  it('streams what is sure to grow only', async () => {
    const seen: string[] = [];
    await complete(new ScriptedEngine('  a();\n  b();\n}\n'), requestAt('f() {\n▮'), {
      onPartial: ({ text }) => seen.push(text),
    });
    for (const [i, text] of seen.entries()) assert(text.startsWith(seen[i - 1] ?? ''), text);
    assert.equal(seen.at(-1), '  a();\n  b();\n}');
  });

  it('streams what the result begins with: in the editor’s tabs or blanks, over what it takes the place of', async () => {
    const cases = [
      { document: 'if (▮)\n', writes: 'a) {\n  b();\n  c();\n}\n' },
      { document: 'f() {▮\n', writes: '\n\ta();\n\t\tb();\n\tc();\n}\n' },
      { document: 'f() {▮\n', writes: '\n  a();\n    b();\n}\n', insertSpaces: false },
    ];
    for (const { document, writes, ...style } of cases) {
      const seen: CompletionPartial[] = [];
      const result = await complete(new ScriptedEngine(writes), requestAt(document, style), {
        onPartial: (partial) => seen.push(partial),
      });
      assert(seen.length > 10);
      for (const { text, replaceAfter } of seen) {
        assert(result.text.startsWith(text.slice(0, text.lastIndexOf('\n') + 1)), text);
        if (text.includes('\n')) assert.equal(replaceAfter, result.replaceAfter, text);
      }
    }
  });

  it('ends at the control tokens of the format', async () => {
    const engine = new ScriptedEngine('x');
    await complete(engine, requestAt('▮'));
    assert.deepEqual(engine.request?.stopIds, fim.stopIds);
  });

  it('spells the half-typed word with the first tokens', async () => {
    const engine = new ScriptedEngine('ue;');
    await complete(engine, requestAt('return val▮\n'));
    assert.equal(new TextDecoder().decode(engine.request?.healedPrefix), ' val');
  });

  it('is the same for CRLF, and gives CRLF back', async () => {
    const lf = 'function f(a) {▮\n}\n';
    const writes = '\n  b();\n  return a;\n}\n';
    const unix = new ScriptedEngine(writes);
    const windows = new ScriptedEngine(writes);
    const want = await complete(unix, requestAt(lf));
    const got = await complete(windows, requestAt(lf.replaceAll('\n', '\r\n'), { eol: '\r\n' }));
    assert.deepEqual(windows.request?.ids, unix.request?.ids);
    assert.equal(got.text, want.text.replaceAll('\n', '\r\n'));
    assert.match(got.text, /^\r\n {2}b\(\);\r\n {2}return a;/);
  });

  it('leaves the editor’s own closing brackets out of the prompt, so that they change no token', async () => {
    const open = new ScriptedEngine('');
    const closed = new ScriptedEngine('');
    await complete(open, requestAt('foo(▮\nbar();\n'));
    await complete(closed, requestAt('foo(▮);\nbar();\n'));
    assert.deepEqual(closed.request?.ids, open.request?.ids);
  });

  it('resolves an abort, in mid-answer and before its turn', async () => {
    const controller = new AbortController();
    const running = complete(new ScriptedEngine('abc'), requestAt('▮'), {
      signal: controller.signal,
      onPartial: () => controller.abort(),
    });
    assert.equal((await running).reason, 'cancelled');
    const waiting = new ScriptedEngine('abc');
    waiting.generate = async () => {
      throw new EngineError('cancelled', 'the request was cancelled');
    };
    assert.equal((await complete(waiting, requestAt('▮'))).reason, 'cancelled');
  });

  it('passes on an error of the engine', async () => {
    const engine = new ScriptedEngine('');
    engine.generate = async () => {
      throw new EngineError('out_of_memory', 'no room');
    };
    await assert.rejects(complete(engine, requestAt('▮')), { code: 'out_of_memory' });
  });
});
