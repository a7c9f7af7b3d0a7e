import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FallingOrder } from '../../../extension/engine/generation/falling_order';
import { uniform } from '../../../extension/engine/generation/philox';

const RANGE = 30;

/** The same by sorting everything. */
class Sorted {
  readonly ids: number[];
  readonly weights: number[];
  constructor(logits: Float32Array, best: number, temperature: number, most: number) {
    const floor = best - RANGE * temperature;
    this.ids = [...logits.keys()]
      .filter((id) => (logits[id] as number) > floor)
      .sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b)
      .slice(0, most);
    this.weights = this.ids.map((id) => Math.exp(((logits[id] as number) - best) / temperature));
  }

  mass(count: number): number {
    return this.weights.slice(0, count).reduce((sum, weight) => sum + weight, 0);
  }
}

const SHAPES: Record<string, (i: number) => number> = {
  normal: (i) => 3 * Math.sqrt(-2 * Math.log(1 - uniform(1, i))) * Math.cos(7 * uniform(2, i)),
  'a few values, so that many are equal': (i) => Math.floor(8 * uniform(3, i)),
  'one peak': (i) => (i === 77 ? 40 : uniform(4, i)),
  'all equal': () => -2,
  'with values that are no numbers': (i) => (i % 3 === 0 ? -Infinity : i % 7 === 0 ? NaN : -i / 50),
};

describe('the falling order of logits', () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    for (const size of [1, 2, 50, 3000]) {
      test(`${name}, ${size} ids: as when everything is sorted`, () => {
        const logits = Float32Array.from({ length: size + 1 }, (_, i) => shape(i + 1));
        const best = logits.reduce((a, b) => (b > a ? b : a), -Infinity);
        for (const temperature of [0.3, 1, 2.5]) {
          for (const most of [1, 20, Infinity]) {
            const range = RANGE * temperature;
            const make = () => new FallingOrder(logits, best, temperature, range, most, null);
            const sorted = new Sorted(logits, best, temperature, most);
            const { length } = sorted.ids;
            assert.equal(make().length, length);
            const whole = make();
            assert.deepEqual(
              sorted.ids.map((_, rank) => whole.at(rank)),
              sorted.ids,
            );
            for (const count of [1, 2, length >> 1, length - 1, length]) {
              if (count < 1 || count > length) continue;
              const mass = sorted.mass(count);
              assert.ok(Math.abs(make().mass(count) - mass) <= 1e-9 * mass);
              const enough = make().countOfMass(mass * (1 - 1e-9), length);
              assert.ok(sorted.mass(enough) >= mass * (1 - 2e-9));
              assert.ok(enough === 1 || sorted.mass(enough - 1) < mass);
              assert.equal(make().countOfMass(Infinity, count), count);
              const weight = sorted.weights[count - 1] as number;
              const heavy = sorted.weights.filter((w) => w >= weight).length;
              assert.equal(make().countOfWeight(weight, length), heavy);
            }
          }
        }
      });
    }
  }

  test('of allowed ids alone', () => {
    const order = new FallingOrder(Float32Array.of(1, 5, 3, 4), 4, 1, RANGE, 2, [3, 0, 2]);
    assert.deepEqual([order.length, order.at(0), order.at(1)], [2, 3, 2]);
  });
});
