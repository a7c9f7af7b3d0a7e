import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { supportedModelTypes } from '../../../extension/engine/core/models/registry';
import { CATALOGUE, TASKS, type Source } from '../../../extension/host/models/catalogue';
import { describeMachine, modelBudget } from '../../../extension/host/models/machine';
import { memoryOf, recommend } from '../../../extension/host/models/recommend';
import { isModelFile, isRepositoryName } from '../../../extension/host/models/repository';

const GIB = 2 ** 30;
const PC = 'AMD Ryzen 7 7840U';
const pc = (gib: number) => describeMachine('linux', 'x64', PC, gib * GIB);
const mac = (chip: string, gib: number) =>
  describeMachine('darwin', 'arm64', `Apple ${chip}`, gib * GIB);

describe('the catalogue', () => {
  for (const model of CATALOGUE) {
    it(`${model.name}: every fact is plausible`, () => {
      assert(supportedModelTypes().includes(model.modelType), model.modelType);
      assert(model.tasks.length > 0 && model.tasks.every((task) => TASKS.includes(task)));
      assert(model.activeParameters <= model.parameters);
      assert(/^(Apache-2\.0|MIT|Other: [A-Z][\w ]+)$/.test(model.license), model.license);
      const strength = model.strength();
      assert(strength.length > 0 && !strength.endsWith('.'));
      const sources = [model.mlx, model.gguf].filter((source) => source !== null);
      assert(sources.length > 0);
      for (const { repository, file, sizeBytes } of sources) {
        assert(isRepositoryName(repository), repository);
        assert(file === null || isModelFile(file), String(file));
        const bits = (8 * sizeBytes) / (model.parameters * 1e9);
        const [least, most] = /q8_0/i.test(file ?? '') ? [8.3, 9] : [4.2, 5.2];
        assert(bits >= least && bits <= most, `${repository}: ${bits.toFixed(2)} bits a weight`);
      }
      assert(model.mlx?.file === undefined || model.mlx.file === null);
    });
  }

  it('names each repository once', () => {
    const all = CATALOGUE.flatMap(({ mlx, gguf }) => [mlx, gguf])
      .filter((source): source is Source => source !== null)
      .map(({ repository }) => repository);
    assert.equal(new Set(all).size, all.length);
  });
});

describe('what is recommended', () => {
  const machines = [4, 8, 16, 32, 64].map(pc);
  const macs = [mac('M1', 8), mac('M2', 16), mac('M3 Pro', 36), mac('M4 Max', 128)];

  for (const machine of [...machines, ...macs]) {
    it(`${machine.label}: fits beside each other, free licences first`, () => {
      const all = recommend(machine, CATALOGUE);
      const best = all.filter(({ isBest }) => isBest);
      const used = best.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
      assert(used <= modelBudget(machine), `${used} of ${modelBudget(machine)}`);
      assert(best.some(({ task }) => task === 'completion'));
      assert(machine.memoryBytes < 8 * GIB || best.some(({ task }) => task === 'chat'));
      for (const { model, source, memoryBytes, reason } of all) {
        assert.equal(memoryBytes, memoryOf(model, source));
        assert.match(reason, /^[A-Z].* % of this computer’s memory\./);
        assert.equal(/not for commercial use/.test(reason), model.nonCommercial);
      }
      assert(best.every(({ model }) => !model.nonCommercial));
    });
  }

  it('more memory never gives a worse model', () => {
    for (const row of [machines, [8, 16, 24, 32, 64].map((gib) => mac('M4 Pro', gib))]) {
      const ranks = row.map(
        (machine) =>
          recommend(machine, CATALOGUE).find(({ task, isBest }) => task === 'chat' && isBest)?.model
            .rank ?? 0,
      );
      assert.deepEqual(
        ranks,
        [...ranks].sort((a, b) => a - b),
      );
    }
  });

  it('on Apple silicon what its GPU computes, elsewhere what is smaller', () => {
    const formats = (machine: ReturnType<typeof pc>) =>
      recommend(machine, CATALOGUE).map(({ source }) => (source.file === null ? 'mlx' : 'gguf'));
    assert(formats(mac('M3 Max', 64)).every((format) => format === 'mlx'));
    assert(formats(pc(32)).includes('gguf'));
  });

  it('a completion must be quick: a processor gets a smaller one than a large Mac', () => {
    const completion = (machine: ReturnType<typeof pc>) =>
      recommend(machine, CATALOGUE).find(({ task }) => task === 'completion')?.model.name;
    assert.equal(completion(pc(64)), 'Qwen2.5-Coder 1.5B');
    assert.equal(completion(mac('M1 Max', 32)), 'Qwen2.5-Coder 7B');
  });
});

describe('a computer', () => {
  it('has a label without the noise of its maker', () => {
    const label = (cpu: string) => describeMachine('linux', 'x64', cpu, 16 * GIB).label;
    assert.equal(label('Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz'), 'Intel Core i5-8250U, 16 GB');
    assert.equal(label(''), '16 GB');
  });

  it('keeps memory for the editor; Metal has a limit of its own', () => {
    assert.equal(modelBudget(pc(8)), 4 * GIB);
    assert.equal(modelBudget(pc(64)), 48 * GIB);
    assert.equal(modelBudget(mac('M4 Max', 128)), 96 * GIB);
  });

  it('of a chip that is not known yet counts as the newest that is', () => {
    assert.equal(mac('M9 Max', 64).bandwidth, mac('M4 Max', 64).bandwidth);
    assert.equal(mac('processor', 64).bandwidth, mac('M1', 64).bandwidth);
  });
});
