/** Tokens drawn by a backend, against the sampler in TypeScript and against the exact distribution. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Draw } from '../../extension/engine/backend/backend';
import { drawTokens, GREEDY_DRAW } from '../engine/generation/draw_tokens';
import { backendUnderTest, MAX_TOKENS, Runner, TestProgram } from './harness';
import type { TestWeights } from './weights';

const backend = backendUnderTest();

/** More than the kernels keep at a time, and not a multiple of a vector, a word or a simdgroup. */
const VOCAB = 1531;

/** Weights are finite: what is stored is multiplied by this, and larger numbers become infinite. */
const UNIT = 2 ** -60;
/** Infinity; and infinity less a 2 ** -50th of itself, which is no number. */
const INFINITE = 1e30;
const BROKEN = 1e38;

/** A program whose logits of token t are the t-th of some rows, and how it is drawn from. */
class Logits {
  private constructor(
    private readonly runner: Runner,
    private readonly weights: TestWeights,
    readonly rows: readonly Float32Array[],
  ) {}

  /** `stored`: of each row, its logits times UNIT, or INFINITE, or BROKEN. */
  static async of(stored: readonly Float32Array[]): Promise<Logits> {
    const test = new TestProgram();
    const table = new Float32Array(VOCAB * VOCAB);
    for (const [i, row] of stored.entries()) table.set(row, i * VOCAB);
    const x = test.embedTable(table, VOCAB);
    const [a, b, sum] = [test.value(VOCAB), test.value(VOCAB), test.value(VOCAB)];
    test.push({ op: 'scale', x, factor: 1 / UNIT, softcap: null, out: a });
    test.push({ op: 'scale', x, factor: -(2 ** -50) / UNIT, softcap: null, out: b });
    test.push({ op: 'add', a, b, out: sum });
    const runner = await Runner.create(backend, test.finish(sum), test.weights);
    const logits = await runner.step([{ tokens: stored.map((_, i) => i), start: 0 }]);
    const rows = stored.map((_, i) => logits.slice(i * VOCAB, (i + 1) * VOCAB));
    return new Logits(runner, test.weights, rows);
  }

  /** Draws from these rows in one step. */
  async step(rows: readonly number[], draws: readonly (Draw | null)[], columns = VOCAB) {
    const batch = this.runner.batch([{ tokens: rows, start: 0 }]);
    const drawn = await this.runner.executable.stepDrawn?.(batch, draws, columns);
    return drawn ?? assert.fail('this backend does not draw');
  }

  /** One token for each draw, all from the same row. */
  async draw(row: number, draws: readonly Draw[], columns = VOCAB): Promise<number[]> {
    const ids: number[] = [];
    for (let i = 0; i < draws.length; i += MAX_TOKENS) {
      const part = draws.slice(i, i + MAX_TOKENS);
      const drawn = await this.step(
        part.map(() => row),
        part,
        columns,
      );
      ids.push(...drawn.ids);
    }
    return ids;
  }

  expected(row: number, draws: readonly Draw[], columns = VOCAB): number[] {
    return draws.map((draw) => {
      const { ids } = drawTokens(this.rows[row] as Float32Array, [draw], columns);
      return ids[0] as number;
    });
  }

  close(): void {
    this.runner.executable.dispose();
    this.weights.close();
  }
}

const ROWS = {
  /** Like those of a model: few tokens have most of the mass. */
  peaked: (i: number) => 9 * Math.exp(-(((i * 769) % VOCAB) / 60)) + Math.sin(i),
  /** Thousands of tokens count. */
  flat: (i: number) => Math.sin(i * 12.9898) * 0.5,
  equal: () => 2.5,
  /** Seven values. */
  tied: (i: number) => ((i * 31) % 7) - 3,
  negative: (i: number) => -40 - ((i * 37) % VOCAB) / 100,
  one: (i: number) => (i === 1000 ? 50 : -50),
  broken: () => BROKEN / UNIT,
  infinite: (i: number) => (i === 3 ? INFINITE / UNIT : 0),
  partly: (i: number) => [BROKEN / UNIT, -INFINITE / UNIT, (i % 100) / 20][i % 3] as number,
};
const NAMES = Object.keys(ROWS) as (keyof typeof ROWS)[];

const FILTERS: readonly Partial<Draw>[] = [
  {},
  { topK: 1 },
  { topK: 40 },
  { topK: 700 },
  { topK: 100000 },
  { topP: 0.9 },
  { topP: 0.999 },
  { topP: 0 },
  { minP: 0.05 },
  { minP: 1 },
  { topK: 50, topP: 0.8, minP: 0.02 },
  { topK: 900, topP: 0.95, minP: 0.001 },
];

/** Every fifth token. */
const FIFTHS = Uint32Array.from({ length: Math.ceil(VOCAB / 32) }, (_, word) => {
  let bits = 0;
  for (let bit = 0; bit < 32; bit++) if ((32 * word + bit) % 5 === 2) bits |= 1 << bit;
  return bits;
});

describe('sample', () => {
  let logits: Logits;
  before(async () => {
    logits = await Logits.of(
      NAMES.map((name) => Float32Array.from({ length: VOCAB }, (_, i) => ROWS[name](i) * UNIT)),
    );
  });
  after(() => logits.close());

  test('the rows are what they are meant to be', () => {
    const row = (name: keyof typeof ROWS) => logits.rows[NAMES.indexOf(name)] as Float32Array;
    assert.ok(row('broken').every(Number.isNaN));
    assert.equal(row('infinite')[3], Infinity);
    assert.deepEqual([...row('partly').subarray(0, 3)], [NaN, -Infinity, Math.fround(0.1)]);
  });

  for (const [row, name] of NAMES.entries()) {
    test(`draws what the sampler draws: ${name}`, async () => {
      const draws = [0, 0.3, 1, 2.5].flatMap((temperature) =>
        FILTERS.flatMap((filter, f) =>
          [null, FIFTHS].map((allowed) => ({
            ...GREEDY_DRAW,
            ...filter,
            temperature,
            allowed,
            seed: 12345,
            index: f,
          })),
        ),
      );
      for (const columns of [VOCAB, 300]) {
        const got = await logits.draw(row, draws, columns);
        assert.deepEqual(got, logits.expected(row, draws, columns));
      }
    });
  }

  test('seeds of any sign and size count', async () => {
    const draws = [0, -1, 2 ** 40 + 3, -(2 ** 52), 2 ** 53 - 1].flatMap((seed) =>
      [0, 7, 2 ** 33].map((index) => ({ ...GREEDY_DRAW, temperature: 1, seed, index })),
    );
    const row = NAMES.indexOf('flat');
    assert.deepEqual(await logits.draw(row, draws), logits.expected(row, draws));
  });

  test('draws follow the exact distribution, and nothing else is ever drawn', async () => {
    const cases: Partial<Draw>[] = [
      { temperature: 1.7 },
      { temperature: 1.7, topK: 12 },
      { temperature: 1.7, topP: 0.8 },
      { temperature: 1.7, minP: 0.1, allowed: FIFTHS },
    ];
    // A GPU in software takes some milliseconds a draw.
    const count = backend.name === 'metal' ? 480 : 1920;
    const row = NAMES.indexOf('peaked');
    for (const filter of cases) {
      const draw: Draw = { ...GREEDY_DRAW, ...filter, seed: 99 };
      const ids = await logits.draw(
        row,
        Array.from({ length: count }, (_, index) => ({ ...draw, index })),
      );
      const { statistic, degrees, strangers } = chiSquare(
        ids,
        distribution(logits.rows[row] as Float32Array, draw),
      );
      assert.equal(strangers, 0);
      // The normal approximation of its upper 0.1 %.
      assert.ok(
        statistic < degrees + 3.1 * Math.sqrt(2 * degrees) + 5,
        `${statistic} of ${degrees}`,
      );
    }
  });

  test('a batch of draws and logits gives each row its own', async () => {
    const tokens = NAMES.map((_, row) => row);
    const draws = tokens.map((row) =>
      row % 2 === 1 ? null : { ...GREEDY_DRAW, temperature: 1, topP: 0.9, seed: row, index: 5 },
    );
    const step = await logits.step(tokens, draws);
    const all = Float32Array.from(logits.rows.flatMap((row) => [...row]));
    assert.deepEqual(step, drawTokens(all, draws, VOCAB));
  });
});

/** Probability by id after all filters, in float64, by sorting. */
function distribution(logits: Float32Array, draw: Draw): Map<number, number> {
  const isAllowed = (id: number) =>
    draw.allowed === null || (((draw.allowed[id >> 5] ?? 0) >>> (id & 31)) & 1) === 1;
  const ids = Array.from(logits, (_, id) => id).filter(isAllowed);
  const at = (id: number) => logits[id] as number;
  ids.sort((a, b) => at(b) - at(a) || a - b);
  const best = at(ids[0] as number);
  const weight = (id: number) => Math.exp((at(id) - best) / draw.temperature);
  const total = (kept: readonly number[]) => kept.reduce((sum, id) => sum + weight(id), 0);
  let kept = draw.topK > 0 ? ids.slice(0, draw.topK) : ids;
  if (draw.topP < 1) {
    const target = draw.topP * total(kept);
    let mass = 0;
    kept = kept.filter((id) => {
      const isIn = mass < target;
      mass += weight(id);
      return isIn;
    });
  }
  kept = kept.filter((id) => weight(id) >= draw.minP);
  const mass = total(kept);
  return new Map(kept.map((id) => [id, weight(id) / mass]));
}

/** Pearson's statistic over ids, the rare ones together; `strangers`: draws that have no probability. */
function chiSquare(ids: readonly number[], expected: ReadonlyMap<number, number>) {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const strangers = ids.filter((id) => !expected.has(id)).length;
  let statistic = 0;
  let cells = 0;
  let rareCount = 0;
  let rareExpected = 0;
  const add = (got: number, wanted: number) => {
    statistic += (got - wanted) ** 2 / wanted;
    cells++;
  };
  for (const [id, probability] of expected) {
    const wanted = probability * ids.length;
    if (wanted >= 5) add(counts.get(id) ?? 0, wanted);
    else {
      rareCount += counts.get(id) ?? 0;
      rareExpected += wanted;
    }
  }
  if (rareExpected >= 1) add(rareCount, rareExpected);
  return { statistic, degrees: cells - 1, strangers };
}
