import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as l10n from '@vscode/l10n';
import { AnswerInProgress, cutNote } from '../../extension/host/chat/answer';
import { toMarkdown } from '../../extension/host/chat/export';
import { modelState } from '../../extension/host/chat/model_state';
import { emptyAnswer, newConversation } from '../../extension/host/chat/turns';
import { explain, renderDecisions, type Decision } from '../../extension/host/completion/decisions';
import type { SupervisedStatus } from '../../extension/host/engine/supervisor';
import { CATALOGUE, TASKS, taskTitle } from '../../extension/host/models/catalogue';
import { sourceTitle } from '../../extension/host/models/library';
import { renderNetwork } from '../../extension/host/models/network_page';
import { problemOf, statusProblem } from '../../extension/host/models/problems';
import { gist } from '../../extension/host/models/quantization';
import { recommend } from '../../extension/host/models/recommend';
import { showBytes, showProgress, showSpeed } from '../../extension/host/models/sizes';
import { statusView, type StatusInput } from '../../extension/host/status_view';
import { EMPTY_REASONS, type CompletionResult } from '../../extension/protocol/completion';
import type { EngineSummary } from '../../extension/protocol/engine';
import { MODEL_SOURCES } from '../../extension/protocol/models';
import { pseudoTexts, withoutTranslated } from '../pseudo';

before(() => l10n.config({ contents: pseudoTexts() }));

/** Names, and units of a clock and a protocol. What users, models and the engine write is Greek below. */
const NAMES = /\$\([\w~-]+\)|\b(anllm|LM Studio|Ollama|UTC|HTTP \d+)\b/g;

function assertTranslated(...texts: readonly string[]): void {
  assert.ok(texts.length > 0);
  for (const text of texts) {
    assert.doesNotMatch(withoutTranslated(text).replaceAll(NAMES, ''), /[a-z]/i, text);
  }
}

const SUMMARY: EngineSummary = {
  model: 'μοντέλο',
  title: 'Μοντέλο',
  modelDir: '/μ',
  backend: 'cpu',
  backendDescription: 'Επεξεργαστής',
  fallbackReason: 'αιτία',
  contextLength: 2048,
  threads: 2,
  loadMs: 120,
  hasFim: true,
  hasChatTemplate: true,
};
const STATES: readonly SupervisedStatus[] = [
  { state: 'stopped' },
  { state: 'idle', memoryBytes: 0 },
  { state: 'loading', message: 'μοντέλο' },
  { state: 'ready', engine: SUMMARY, memoryBytes: 1e8 },
  { state: 'ready', engine: { ...SUMMARY, fallbackReason: null }, memoryBytes: 1e8 },
  { state: 'generating', engine: SUMMARY },
  { state: 'failed', code: 'internal', message: 'λάθος' },
  { state: 'crashed', message: 'λάθος', waitMs: 0 },
  { state: 'crashed', message: 'λάθος', waitMs: 2000 },
];

test('the status bar', () => {
  const input: StatusInput = {
    enabled: true,
    languageId: 'γλώσσα',
    languageEnabled: true,
    snoozedMinutes: 0,
    engine: { state: 'stopped' },
    serverPort: 80,
    why: '',
  };
  const inputs: readonly StatusInput[] = [
    ...STATES.map((engine) => ({ ...input, engine })),
    { ...input, enabled: false },
    { ...input, languageEnabled: false },
    { ...input, snoozedMinutes: 5 },
  ];
  for (const { text, lines } of inputs.map(statusView)) assertTranslated(text, ...lines);
});

test('why there is no suggestion', () => {
  const decision: Decision = {
    at: 0,
    path: 'α',
    line: 3,
    column: 7,
    invoked: true,
    outcome: { kind: 'nothing', reason: 'cut_off' },
    elapsedMs: 41,
    waitedMs: 12,
    result: {
      promptTokens: 5,
      cachedTokens: 2,
      timings: { queueMs: 1, prefillMs: 2, decodeMs: 3 },
    } as CompletionResult,
  };
  const shown = (['engine', 'cache', 'running'] as const).map((from): Decision => {
    return { ...decision, outcome: { kind: 'shown', text: 'κώδικας', from } };
  });
  assertTranslated(renderDecisions([]), renderDecisions([decision]), renderDecisions(shown));
  assertTranslated(...EMPTY_REASONS.map((reason) => explain(reason)), explain('engine', 'λάθος'));
});

test('the chat: notes below answers, the state of the model, what is exported', () => {
  const ended = new AnswerInProgress(emptyAnswer(), () => 0).finish(
    {
      finish: 'length',
      usage: { promptTokens: 1, cachedTokens: 0, generatedTokens: 9 },
      timings: { queueMs: 0, prefillMs: 0, decodeMs: 0, totalMs: 0 },
    },
    '',
  );
  assertTranslated(ended.problem);
  for (const messages of [1, 2]) assertTranslated(cutNote({ messages, wantedTokens: 9 }));
  for (const status of STATES) assertTranslated(modelState('/μ', status).detail);
  const question = { role: 'user', id: 'q', text: 'Ερώτηση', attachments: [] } as const;
  const conversation = { ...newConversation(0), turns: [question, emptyAnswer()] };
  assertTranslated(conversation.title, toMarkdown(conversation).replace(/^\d.*$/m, ''));
});

test('the models: who keeps them, why they are recommended, how large they are', () => {
  assertTranslated(...MODEL_SOURCES.map(sourceTitle), ...TASKS.map(taskTitle));
  assertTranslated(...CATALOGUE.map(({ strength }) => strength()));
  const gib = 2 ** 30;
  const machine = { label: '', memoryBytes: 256 * gib, hasMetal: true, bandwidth: 8e11 };
  assertTranslated(...recommend(machine, CATALOGUE).map(({ reason }) => reason));
  const labels = ['F16', 'Q8_0', 'Q6_K', 'Q5_0', 'MXFP4', 'Q4_0', 'Q3_0', 'Q2_0'];
  assertTranslated(...labels.map((label) => gist(label) || label));
  assertTranslated(...[1e4, 1e7, 1e10].map(showBytes), showProgress(1, 2), showSpeed(1e6));
});

test('the network: what was sent, and what went wrong', () => {
  const facts = { entries: [], hubUrl: '', remoteUrl: null, serverUrl: null };
  const entry = { time: '2026-01-02T03:04:05.678Z', host: '', purpose: '', result: '' };
  const full = {
    ...facts,
    entries: [{ ...entry, receivedBytes: 1 }],
    remoteUrl: '',
    serverUrl: '',
  };
  assertTranslated(renderNetwork(facts), renderNetwork(full));
  assertTranslated(...[401, 403, 404, 429, 500].map((status) => statusProblem(status)));
  assertTranslated(statusProblem(429, '1'), statusProblem(429, '7'));
  const causes = ['CERT_HAS_EXPIRED', 'ENOTFOUND', 'ECONNRESET', ''];
  const errors = causes.map((code) => Object.assign(new Error(''), code === '' ? {} : { code }));
  assertTranslated(...errors.map((error) => problemOf(error, '')));
});
