import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EngineHolder, type HeldEngine } from '../../../extension/engine/child/holder';
import { EngineError } from '../../../extension/engine/errors';
import type { EngineStatus } from '../../../extension/protocol/engine';
import { until } from '../../until';

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

class Lab {
  loads = 0;
  readonly disposed: number[] = [];
  readonly statuses: EngineStatus['state'][] = [];
  readonly waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly holder: EngineHolder;

  constructor(idleMs = 0) {
    this.holder = new EngineHolder({
      load: () => this.load(),
      idleMs,
      onStatus: ({ state }) => this.statuses.push(state),
    });
  }

  private load(): Promise<HeldEngine> {
    const id = ++this.loads;
    const engine = {
      info: { title: `model ${id}` },
      dispose: async () => void this.disposed.push(id),
    } as unknown as HeldEngine;
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve: () => resolve(engine), reject });
    });
  }

  async loaded(): Promise<void> {
    this.waiting.shift()?.resolve();
    await settle();
  }
}

describe('engine holder', () => {
  it('loads once for all who wait', async () => {
    const lab = new Lab();
    const uses = [1, 2].map(() => lab.holder.use(async ({ info }) => info.title));
    await lab.loaded();
    assert.deepEqual(await Promise.all(uses), ['model 1', 'model 1']);
    assert.equal(lab.loads, 1);
  });

  it('remembers a failed load, until it is asked to load', async () => {
    const lab = new Lab();
    const first = lab.holder.use(async () => 'used');
    lab.waiting.shift()?.reject(new EngineError('bad_model', 'config.json: missing'));
    await assert.rejects(first, { code: 'bad_model' });
    await assert.rejects(
      lab.holder.use(async () => 'used'),
      { code: 'bad_model' },
    );
    assert.equal(lab.loads, 1);
    const again = lab.holder.load();
    await lab.loaded();
    assert.equal((await again).title, 'model 2');
    assert.deepEqual(lab.statuses, ['loading', 'failed', 'loading', 'ready']);
  });

  it('frees a model that was still loading', async () => {
    const lab = new Lab();
    const use = lab.holder.use(async ({ info }) => info.title);
    const unload = lab.holder.unload();
    await lab.loaded();
    await unload;
    assert.equal(await use, 'model 1');
    assert.deepEqual(lab.disposed, [1]);
    const next = lab.holder.use(async ({ info }) => info.title);
    await settle();
    await lab.loaded();
    assert.equal(await next, 'model 2');
  });

  it('frees an idle model, not one in use', async () => {
    const lab = new Lab(20);
    const loading = lab.holder.load();
    await lab.loaded();
    await loading;
    let finish = (): void => undefined;
    const use = lab.holder.use(() => new Promise<void>((resolve) => (finish = resolve)));
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.deepEqual(lab.disposed, []);
    finish();
    await use;
    await until('the model to be freed', () => lab.disposed.length > 0);
    assert.equal(lab.statuses.at(-1), 'idle');
  });

  it('refuses everything once it is closed', async () => {
    const lab = new Lab();
    const loading = lab.holder.load();
    await lab.loaded();
    await loading;
    await lab.holder.close();
    assert.deepEqual(lab.disposed, [1]);
    await assert.rejects(
      lab.holder.use(async () => 'used'),
      { code: 'unavailable' },
    );
  });

  it('loads a model anew when nobody uses it, and leaves it alone otherwise', async () => {
    const lab = new Lab();
    await lab.holder.renew();
    assert.equal(lab.loads, 0, 'nothing is in memory');
    const first = lab.holder.load();
    await lab.loaded();
    await first;
    let end = (): void => undefined;
    const use = lab.holder.use(() => new Promise<void>((resolve) => (end = resolve)));
    await settle();
    await lab.holder.renew();
    assert.deepEqual(lab.disposed, [], 'in use');
    end();
    await use;
    const renewed = lab.holder.renew();
    await settle();
    assert.deepEqual(lab.disposed, [1]);
    await lab.loaded();
    await renewed;
    assert.equal(lab.loads, 2);
    assert.equal(lab.holder.loaded?.info.title, 'model 2');
    await lab.holder.close();
    assert.deepEqual(lab.disposed, [1, 2]);
  });
});
