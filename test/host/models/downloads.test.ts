import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Downloads } from '../../../extension/host/models/downloads';
import { readRepository, variantsOf, type Hub } from '../../../extension/host/models/repository';
import { ModelStore, type Plan } from '../../../extension/host/models/store';
import { until } from '../../until';
import { LocalHub } from './local_hub';

const NAME = 'org/Tiny';
const WEIGHTS = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 251));
const nothing = (): void => undefined;

describe('downloads', () => {
  let root: string;
  let local: LocalHub;
  let hub: Hub;
  let store: ModelStore;
  let plan: Plan;
  const purposes: string[] = [];
  const open = () =>
    new Downloads({
      store,
      openHub: async (purpose) => {
        purposes.push(purpose);
        return hub;
      },
      limits: { retryMs: 1 },
    });
  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'anllm-downloads-'));
    local = new LocalHub(NAME, { 'config.json': Buffer.from('{}'), 'model.safetensors': WEIGHTS });
    hub = { url: await local.start(), token: null, fetch };
    store = new ModelStore(root);
    const model = await readRepository(NAME, hub);
    const [variant] = variantsOf(model);
    assert(variant);
    plan = { name: NAME, revision: model.revision, label: variant.label, files: variant.files };
  });
  afterEach(() => {
    local.stop();
    rmSync(root, { recursive: true, force: true });
  });
  const folder = () => join(root, 'org', 'Tiny');

  it('end with the path, no plan and no lock', async () => {
    const downloads = open();
    let changes = 0;
    downloads.onChange(() => changes++);
    assert.equal(await downloads.run(plan, nothing), folder());
    assert.deepEqual(await store.unfinished(), []);
    assert(!existsSync(join(folder(), 'safetensors.lock')));
    assert(changes >= 2);
    assert.deepEqual(purposes, ['download of org/Tiny']);
  });

  it('are paused, and another session goes on by the plan, without asking for the list again', async () => {
    local.faults.stallAfter = 100_000;
    const downloads = open();
    const running = downloads.run(plan, nothing);
    await until('the stalled download', () =>
      downloads.running.some(({ progress }) => progress.doneBytes >= 100_000),
    );
    downloads.pause(plan);
    assert.equal(await running, null);
    assert.deepEqual(downloads.running, []);
    const [unfinished] = await store.unfinished();
    assert(unfinished && unfinished.doneBytes >= 100_000 && unfinished.doneBytes < 300_000);
    const before = local.requests.length;
    assert.equal(await open().run(unfinished.plan, nothing), folder());
    assert(readFileSync(join(folder(), 'model.safetensors')).equals(WEIGHTS));
    const paths = local.requests.slice(before).map(({ path }) => path);
    assert(paths.length > 0 && paths.every((path) => path.includes('/resolve/')), paths.join());
  });

  it('of the same files do not run twice, here or in another window', async () => {
    local.faults.stallAfter = 1;
    const downloads = open();
    const running = downloads.run(plan, nothing);
    await until('the first', () => existsSync(join(folder(), 'safetensors.lock')));
    await assert.rejects(downloads.run(plan, nothing), /is being downloaded already/);
    downloads.dispose();
    assert.equal(await running, null);
    // Process 1 is always there and is none of ours.
    writeFileSync(join(folder(), 'safetensors.lock'), '1');
    await assert.rejects(open().run(plan, nothing), /another window is downloading this model/);
  });

  it('are not kept from going on by a window that crashed', async () => {
    mkdirSync(folder(), { recursive: true });
    for (const owner of ['', 'x', String(2 ** 30), String(process.pid)]) {
      writeFileSync(join(folder(), 'safetensors.lock'), owner);
      assert.equal(await open().run(plan, nothing), folder());
    }
  });

  it('that fail can go on, and say why they failed', async () => {
    local.faults.status = 403;
    await assert.rejects(open().run(plan, nothing), /accept the model’s licence/);
    assert.equal((await store.unfinished()).length, 1);
    local.faults.status = null;
    assert.equal(await open().run(plan, nothing), folder());
  });
});
