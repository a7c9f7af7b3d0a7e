import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AnswerFactory, type Answer } from '../../../extension/engine/generation/answer';
import {
  GREEDY,
  type GenerateRequest,
  type TokenLogprob,
} from '../../../extension/engine/generation/types';
import { EOS, toyTokenizer, VOCAB_SIZE } from './scheduler/toy_model';

const factory = new AnswerFactory({
  tokenizer: toyTokenizer,
  eosIds: [EOS],
  vocabSize: VOCAB_SIZE,
  contextLength: 100,
});
const ID = { a: 0, b: 1, c: 2, e1: 36, e2: 37 };

const PLAIN_DRAW = { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0 };
const constraint = { mask: () => {}, accept: () => {}, isComplete: false };

interface Piece {
  readonly text: string;
  readonly tokens: readonly TokenLogprob[];
}

/** The pieces that come out when the model wants `ids`. */
function run(
  ids: readonly number[],
  request: Partial<GenerateRequest>,
): { answer: Answer; pieces: Piece[] } {
  const pieces: Piece[] = [];
  const answer = factory.begin({
    ids: [ID.a],
    maxTokens: 50,
    sampling: GREEDY,
    stop: [],
    logprobs: 1,
    onText: (text, tokens = []) => {
      pieces.push({ text, tokens });
      return true;
    },
    ...request,
  });
  for (const id of ids) {
    const logits = new Float32Array(VOCAB_SIZE);
    logits[id] = 9;
    if (!answer.draw(logits)) break;
  }
  answer.finish();
  return { answer, pieces };
}

const idsOf = (tokens: readonly TokenLogprob[]) => tokens.map(({ id }) => id);

describe('answer', () => {
  test('a token comes with the text that it ends, a character of two tokens with the second', () => {
    assert.equal(toyTokenizer.tokenBytes(ID.e1)[0], 0xc3);
    const { answer, pieces } = run([ID.b, ID.e1, ID.e2, ID.c, EOS], {});
    assert.equal(answer.text, 'béc');
    assert.deepEqual(idsOf(answer.logprobs), [ID.b, ID.e1, ID.e2, ID.c]);
    assert.equal(pieces.map(({ text }) => text).join(''), 'béc');
    assert.deepEqual(
      answer.logprobs.map(({ start, end }) => [start, end]),
      [
        [0, 1],
        [1, 1],
        [1, 2],
        [2, 3],
      ],
    );
  });

  test('tokens of a stop string are left out, those that it cuts through are not', () => {
    const { answer } = run([ID.c, ID.a, ID.b, ID.c], { stop: ['ab'] });
    assert.equal(answer.text, 'c');
    assert.deepEqual(idsOf(answer.logprobs), [ID.c]);
    const CD = 28;
    const { answer: cut } = run([ID.a, CD], { stop: ['d'] });
    assert.equal(cut.text, 'ac');
    assert.deepEqual(idsOf(cut.logprobs), [ID.a, CD]);
  });

  test('tokens of text that was held back and became no stop string come with it', () => {
    const { answer, pieces } = run([ID.a, ID.c, EOS], { stop: ['ab'] });
    assert.deepEqual(
      pieces.map(({ text, tokens }) => [text, idsOf(tokens)]),
      [['ac', [ID.a, ID.c]]],
    );
    assert.equal(answer.text, 'ac');
  });

  test('forced tokens are scored, may hold stop strings, and leave the draws as they are', () => {
    const { answer } = run([ID.c, ID.c, ID.c, EOS], { forcedIds: [ID.a, ID.b], stop: ['ab'] });
    assert.equal(answer.text, 'abc');
    assert.deepEqual(idsOf(answer.logprobs), [ID.a, ID.b, ID.c]);
    assert.ok((answer.logprobs[0]?.logprob ?? 0) < -8, 'the model did not want it');
    assert.equal(answer.logprobs[0]?.top[0]?.id, ID.c);
  });

  test('logits that are no numbers are an error, not a token', () => {
    for (const temperature of [0, 1]) {
      const sampling = { ...GREEDY, temperature };
      const answer = factory.begin({ ids: [ID.a], maxTokens: 5, sampling, stop: [] });
      const broken = new Float32Array(VOCAB_SIZE).fill(NaN);
      assert.throws(() => answer.draw(broken), { code: 'internal', message: /not numbers/ });
    }
    const answer = factory.begin({ ids: [ID.a], maxTokens: 5, sampling: GREEDY, stop: [] });
    assert.throws(() => answer.draw(-1), { code: 'internal', message: /not numbers/ });
  });

  test('the backend may draw where nothing else is wanted of the logits', () => {
    const plain = { ids: [ID.a], maxTokens: 5, sampling: GREEDY, stop: [] };
    const answer = factory.begin(plain);
    assert.deepEqual(answer.drawAfter([]), { ...PLAIN_DRAW, index: 0, allowed: null });
    assert.equal(answer.drawAfter([ID.a, ID.b])?.index, 2);
    for (const id of [ID.b, ID.c, EOS]) answer.draw(id);
    answer.finish();
    assert.equal(answer.text, 'bc');
    assert.equal(answer.finishReason, 'stop');
    const sampling = { ...GREEDY, temperature: 0.5, topK: 9, seed: 7 };
    assert.deepEqual(factory.begin({ ...plain, sampling }).drawAfter([]), {
      ...PLAIN_DRAW,
      temperature: 0.5,
      topK: 9,
      seed: 7,
      index: 0,
      allowed: null,
    });
    const others: Partial<GenerateRequest>[] = [
      { logprobs: 0 },
      { healedPrefix: new TextEncoder().encode('a') },
      { sampling: { ...GREEDY, repetitionPenalty: 1.1 } },
      { sampling: { ...GREEDY, presencePenalty: 1 } },
      { sampling: { ...GREEDY, frequencyPenalty: -1 } },
      { sampling: { ...GREEDY, logitBias: new Map([[ID.a, 1]]) } },
      { constraint: { ...constraint, allowedAfter: () => null } },
    ];
    for (const other of others)
      assert.equal(factory.begin({ ...plain, ...other }).drawAfter([]), null);
  });

  test('a token is drawn by what is left of forced tokens, healing and grammar before it', () => {
    const plain = { ids: [ID.a], maxTokens: 5, sampling: GREEDY, stop: [] };
    const healed = factory.begin({ ...plain, healedPrefix: new TextEncoder().encode('ab') });
    assert.equal(healed.drawAfter([ID.a]), null);
    assert.equal(healed.drawAfter([ID.a, ID.b])?.index, 2);

    const asked: (readonly number[])[] = [];
    const allowed = Uint32Array.of(6);
    const allowedAfter = (ids: readonly number[]) => {
      asked.push(ids);
      return allowed;
    };
    const forcedIds = [ID.c, ID.a];
    const held = factory.begin({
      ...plain,
      forcedIds,
      constraint: { ...constraint, allowedAfter },
    });
    assert.equal(held.drawAfter([ID.c])?.index, 0);
    assert.deepEqual(held.drawAfter([...forcedIds, ID.b]), { ...PLAIN_DRAW, index: 1, allowed });
    assert.deepEqual(asked, [[], [ID.b]]);
  });
});
