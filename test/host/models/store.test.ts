import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ModelStore } from '../../../extension/host/models/store';

describe('downloaded models', () => {
  let root: string;
  let store: ModelStore;
  const put = (path: string): string => {
    const file = join(root, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'x');
    return file;
  };
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'anllm-store-'));
    store = new ModelStore(join(root, 'models'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('are named by the folder, or by their GGUF file', () => {
    const file = { path: 'tiny.gguf', sizeBytes: 1, checksum: null };
    const variant = { label: 'tiny.gguf', files: [file], sizeBytes: 1 };
    assert.equal(store.pathOf('org/a', variant), join(root, 'models/org/a/tiny.gguf'));
    assert.equal(
      store.pathOf('org/a', { ...variant, label: 'safetensors' }),
      join(root, 'models/org/a'),
    );
  });

  const plan = {
    name: 'org/a',
    revision: '0123',
    label: 'safetensors',
    files: [
      { path: 'config.json', sizeBytes: 1, checksum: null },
      { path: 'model.safetensors', sizeBytes: 10, checksum: `sha256:${'f'.repeat(64)}` },
    ],
  };

  it('are unfinished from the beginning to the end of a download', async () => {
    assert.deepEqual(await store.unfinished(), []);
    put('models/org/b/model.safetensors');
    await store.begin(plan);
    assert.deepEqual(await store.unfinished(), [{ plan, doneBytes: 0, totalBytes: 11 }]);
    put('models/org/a/config.json');
    put('models/org/a/model.safetensors.part');
    assert.equal((await store.unfinished())[0]?.doneBytes, 2);
    await store.end(plan);
    assert.deepEqual(await store.unfinished(), []);
  });

  it('that were given up leave nothing behind', async () => {
    await store.begin(plan);
    put('models/org/a/config.json');
    put('models/org/a/model.safetensors.part');
    await store.discard(plan);
    assert(!existsSync(join(root, 'models/org')));
  });

  it('of one folder are deleted one by one: a GGUF file is none of the safetensors beside it', async () => {
    const folder = join(root, 'models/org/a');
    const whole = ['config.json', 'model.safetensors'].map((name) => put(`models/org/a/${name}`));
    const other = ['b.gguf', 'c.gguf.part', 'c.gguf.download.json'].map((name) =>
      put(`models/org/a/${name}`),
    );
    await store.remove(folder);
    assert.deepEqual(whole.filter(existsSync), []);
    assert.deepEqual(other.filter(existsSync), other);
    await store.remove(other[0] ?? '');
    assert(existsSync(other[1] ?? ''));
  });

  const hostile: readonly [string, unknown][] = [
    ['leaves the folder', { ...plan, name: '../../x' }],
    ['names another file', { ...plan, files: [{ ...plan.files[0], path: '../../.bashrc' }] }],
    ['names a script', { ...plan, files: [{ ...plan.files[0], path: 'modeling.py' }] }],
    ['has a negative size', { ...plan, files: [{ ...plan.files[0], sizeBytes: -1 }] }],
    ['is of another kind', ['org/a']],
  ];
  for (const [what, value] of hostile) {
    it(`go on by no plan that ${what}`, async () => {
      writeFileSync(put('models/org/a/x.download.json'), JSON.stringify(value));
      assert.deepEqual(await store.unfinished(), []);
    });
  }

  it('of several parts go as a whole', async () => {
    const first = put('models/org/a/big-00001-of-00002.gguf');
    const last = put('models/org/a/big-00002-of-00002.gguf');
    const other = put('models/org/a/other.gguf');
    await store.remove(first);
    assert.deepEqual(
      [existsSync(first), existsSync(last), existsSync(other)],
      [false, false, true],
    );
  });

  it('leave no empty folder behind, and what others share it with', async () => {
    const [first, second] = [put('models/org/a/one.gguf'), put('models/org/a/two.gguf')];
    await store.remove(first);
    assert(existsSync(second));
    await store.remove(second);
    assert(!existsSync(join(root, 'models/org')));
    assert(existsSync(join(root, 'models')));
  });

  it('are all that is ever deleted', async () => {
    const other = put('elsewhere/model.gguf');
    for (const path of [other, store.folder, join(store.folder, '..', 'elsewhere')]) {
      await assert.rejects(store.remove(path), /was not downloaded by anllm/);
    }
    assert(existsSync(other));
  });
});
