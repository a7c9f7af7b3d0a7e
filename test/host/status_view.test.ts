import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusView, type StatusInput } from '../../extension/host/status_view';
import type { EngineSummary } from '../../extension/protocol/engine';

const ENGINE: EngineSummary = {
  model: 'qwen3',
  title: 'Sprout 40M (built in)',
  modelDir: '/models/sprout',
  backend: 'cpu',
  backendDescription: 'CPU, AVX-512, 2 threads',
  fallbackReason: null,
  contextLength: 2048,
  threads: 2,
  loadMs: 120,
  hasFim: true,
  hasChatTemplate: true,
};

const INPUT: StatusInput = {
  enabled: true,
  languageId: 'typescript',
  languageEnabled: true,
  snoozedMinutes: 0,
  engine: { state: 'ready', engine: ENGINE, memoryBytes: 90 * 2 ** 20 },
  serverPort: null,
  why: '',
};

describe('status bar', () => {
  it('shows the port of the server, whatever else there is to say', () => {
    for (const input of [INPUT, { ...INPUT, enabled: false }]) {
      const view = statusView({ ...input, serverPort: 8642 });
      assert.match(view.text, / anllm :8642$/);
      assert.equal(view.lines.at(-1), 'OpenAI server on port 8642');
    }
  });

  it('names model, backend and memory when ready', () => {
    const { lines, severity } = statusView(INPUT);
    assert.deepEqual(lines, [
      'anllm: ready',
      'Sprout 40M (built in)',
      'CPU, AVX-512, 2 threads',
      'Memory of the engine: 90 MB',
    ]);
    assert.equal(severity, 'normal');
  });

  const cases: readonly [string, Partial<StatusInput>, RegExp, string][] = [
    ['disabled', { enabled: false }, /completions are disabled$/, 'normal'],
    ['snoozed', { snoozedMinutes: 4 }, /snoozed for 4 min/, 'normal'],
    ['disabled for the language', { languageEnabled: false }, /disabled for typescript/, 'normal'],
    ['without a process', { engine: { state: 'stopped' } }, /loaded when it is needed/, 'normal'],
    [
      'loading',
      { engine: { state: 'loading', message: 'reading weights' } },
      /loading the model \(reading weights\)/,
      'normal',
    ],
    [
      'a broken model',
      { engine: { state: 'failed', code: 'bad_model', message: 'config.json: missing' } },
      /config\.json: missing/,
      'error',
    ],
    [
      'a crash, once',
      { engine: { state: 'crashed', message: 'the engine process ended (SIGKILL)', waitMs: 0 } },
      /SIGKILL\); it starts again with the next completion/,
      'warning',
    ],
    [
      'a crash, again',
      { engine: { state: 'crashed', message: 'the engine process ended', waitMs: 2000 } },
      /can start again in 2\.0 s/,
      'warning',
    ],
    [
      'a slow backend',
      {
        engine: {
          state: 'generating',
          engine: { ...ENGINE, fallbackReason: 'the native addon cannot be loaded' },
        },
      },
      /Slow: the native addon cannot be loaded/,
      'warning',
    ],
    ['why nothing is shown', { why: 'Text is selected.' }, /Text is selected\./, 'normal'],
  ];
  for (const [name, input, line, severity] of cases) {
    it(name, () => {
      const view = statusView({ ...INPUT, ...input });
      assert.match(view.lines.join('\n'), line);
      assert.equal(view.severity, severity);
    });
  }

  it('an editor without a language is no reason to be off', () => {
    assert.match(statusView({ ...INPUT, languageId: null }).lines[0] ?? '', /ready/);
  });
});
