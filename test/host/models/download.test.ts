import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  download,
  type DownloadOptions,
  type Progress,
} from '../../../extension/host/models/download';
import {
  isModelFile,
  isRepositoryName,
  readRepository,
  variantsOf,
  type Hub,
} from '../../../extension/host/models/repository';
import { until } from '../../until';
import { LocalHub, REVISION } from './local_hub';

const NAME = 'org/Tiny-Chat';
const WEIGHTS = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 251));
const FILES = {
  'config.json': Buffer.from('{"model_type":"qwen3"}'),
  'tokenizer.json': Buffer.from('{}'),
  'model.safetensors': WEIGHTS,
  'tiny-q4.gguf': WEIGHTS.subarray(0, 100_000),
  'README.md': Buffer.from('# Tiny'),
  'pytorch_model.bin': Buffer.from('pickle'),
  '../evil.json': Buffer.from('x'),
  'sub/config.json': Buffer.from('x'),
  'modeling.py': Buffer.from('import os'),
};

describe('models from a hub', () => {
  let folder: string;
  let local: LocalHub;
  let hub: Hub;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'anllm-hub-'));
    local = new LocalHub(NAME, FILES);
    hub = { url: await local.start(), token: null, fetch };
  });
  afterEach(() => {
    local.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function get(options: Partial<DownloadOptions> = {}): Promise<Progress[]> {
    const model = await readRepository(NAME, hub);
    const [variant] = variantsOf(model);
    assert(variant);
    const seen: Progress[] = [];
    await download({
      hub,
      model,
      files: variant.files,
      folder,
      signal: new AbortController().signal,
      onProgress: (progress) => seen.push(progress),
      retryMs: 1,
      ...options,
    });
    return seen;
  }
  const weights = () => readFileSync(join(folder, 'model.safetensors'));

  it('are listed with revision, licence, sizes, and nothing but the files that a model needs', async () => {
    const model = await readRepository(NAME, hub);
    assert.deepEqual([model.revision, model.license], [REVISION, 'apache-2.0']);
    assert.deepEqual(
      variantsOf(model).map(({ label, sizeBytes, files }) => [
        label,
        sizeBytes,
        files.map(({ path }) => path),
      ]),
      [
        ['safetensors', 300_000 + 22 + 2, ['config.json', 'tokenizer.json', 'model.safetensors']],
        ['tiny-q4.gguf', 100_000, ['tiny-q4.gguf']],
      ],
    );
  });

  it('come whole, with progress up to the end, and no trace of parts', async () => {
    const seen = await get();
    assert(weights().equals(WEIGHTS));
    assert.deepEqual(readdirSync(folder).sort(), [
      'config.json',
      'model.safetensors',
      'tokenizer.json',
    ]);
    assert.deepEqual(seen.at(-1), { doneBytes: 300_024, totalBytes: 300_024 });
    assert(seen.every(({ doneBytes }, index) => doneBytes >= (seen[index - 1]?.doneBytes ?? 0)));
  });

  it('go on where a connection broke, again and again', async () => {
    local.faults.breakAfter = [100_000, 50_000, 1];
    await get();
    assert(weights().equals(WEIGHTS));
    const ranges = local.requests.filter(({ path }) => path.endsWith('.safetensors'));
    assert(ranges.filter(({ range }) => /^bytes=[1-9]\d*-$/.test(range)).length >= 2);
  });

  it('go on after a pause, in another session', async () => {
    const controller = new AbortController();
    await assert.rejects(
      get({
        signal: controller.signal,
        onProgress: ({ doneBytes }) => doneBytes > 60_000 && controller.abort(),
      }),
      { name: 'AbortError' },
    );
    assert(!existsSync(join(folder, 'model.safetensors')));
    const kept = readFileSync(join(folder, 'model.safetensors.part')).length;
    assert(kept > 0);
    await get();
    assert(weights().equals(WEIGHTS));
    assert.equal(local.requests.at(-1)?.range, kept < WEIGHTS.length ? `bytes=${kept}-` : '');
  });

  it('are not fetched twice', async () => {
    await get();
    const before = local.requests.length;
    await get();
    const files = local.requests.slice(before).filter(({ path }) => path.includes('/resolve/'));
    assert.deepEqual(files, []);
  });

  it('begin anew when the server has no ranges', async () => {
    writeFileSync(join(folder, 'model.safetensors.part'), WEIGHTS.subarray(0, 1000));
    local.faults.ignoreRange = true;
    await get();
    assert(weights().equals(WEIGHTS));
  });

  it('are refused when the checksum is wrong, and leave nothing that looks whole', async () => {
    await get();
    for (const [name, length] of [
      ['config.json', 40],
      ['model.safetensors', 64],
    ] as const) {
      rmSync(join(folder, name));
      local.faults.corrupt = true;
      await assert.rejects(
        get(),
        new RegExp(`${name}: its checksum is [0-9a-f]{${length}}, expected`),
      );
      assert(!existsSync(join(folder, name)) && !existsSync(join(folder, `${name}.part`)));
      local.faults.corrupt = false;
      await get();
    }
    assert(weights().equals(WEIGHTS));
  });

  it('are refused when what was kept of them is of another file', async () => {
    writeFileSync(join(folder, 'model.safetensors.part'), Buffer.alloc(1000, 7));
    await assert.rejects(get(), /model\.safetensors: its checksum is/);
    await get();
    assert(weights().equals(WEIGHTS));
  });

  it('are refused when more comes than the hub has told of', async () => {
    const model = await readRepository(NAME, hub);
    const files = model.files
      .filter(({ path }) => path === 'model.safetensors')
      .map((file) => ({ ...file, sizeBytes: 1000 }));
    const signal = new AbortController().signal;
    await assert.rejects(
      download({ hub, model, files, folder, signal, retryMs: 1 }),
      /model\.safetensors: more than its 1,000 bytes came/,
    );
    assert(!existsSync(join(folder, 'model.safetensors')));
  });

  it('come from another host too, which gets no token', async () => {
    const store = new LocalHub(NAME, FILES);
    const other = await store.start();
    try {
      hub = { ...hub, token: 'hf_secret' };
      local.faults.redirectTo = other;
      await get();
      assert(weights().equals(WEIGHTS));
      assert(store.requests.length >= 3);
      assert(store.requests.every(({ authorization }) => authorization === ''));
      assert(local.requests.every(({ authorization }) => authorization === 'Bearer hf_secret'));
    } finally {
      store.stop();
    }
  });

  it('are no files of this computer, whatever the hub says', async () => {
    const secret = join(folder, 'secret');
    writeFileSync(secret, FILES['config.json']);
    local.faults.redirectTo = `file://${secret}`;
    await assert.rejects(get(), /config\.json: http:.* cannot be reached/);
    assert.deepEqual(readdirSync(folder), ['secret']);
  });

  it('have names that a model’s files have, in one folder: others are not asked for', async () => {
    const paths = (await readRepository(NAME, hub)).files.map(({ path }) => path);
    assert.deepEqual(paths.sort(), [
      'config.json',
      'model.safetensors',
      'tiny-q4.gguf',
      'tokenizer.json',
    ]);
    for (const path of [
      '../config.json',
      '/etc/x.gguf',
      'a/b.gguf',
      'a\\b.gguf',
      'C:x.gguf',
      '..',
    ]) {
      assert(!isModelFile(path), path);
    }
  });

  it('go on after the process was killed in the middle', async () => {
    local.faults.stallAfter = 200_000;
    const script = new URL('./killed_download.ts', import.meta.url).pathname;
    const args = ['--import', 'tsx', script, hub.url, NAME, folder];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    const part = join(folder, 'model.safetensors.part');
    await until('some of it', () => existsSync(part) && statSync(part).size > 100_000);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert(!existsSync(join(folder, 'model.safetensors')));
    const before = local.requests.length;
    await get();
    assert(weights().equals(WEIGHTS));
    assert(local.requests.slice(before).some(({ range }) => /^bytes=[1-9]\d{5}-$/.test(range)));
  });

  it('are no web pages', async () => {
    local.faults.html = true;
    await assert.rejects(get(), /config\.json: the server sent a web page.*proxy/);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('do not begin on a disk that is too full', async () => {
    await assert.rejects(
      get({ freeBytes: async () => 600e6 - 300_000 * 300 }),
      /the download needs 301 kB, and 510 MB are free: make room in/,
    );
    assert(!local.requests.some(({ path }) => path.includes('/resolve/')));
  });

  for (const [status, words] of [
    [401, /wants a token/],
    [403, /accept the model’s licence/],
    [404, /no such model/],
    [407, /a proxy, with its user and password, is set with http\.proxy/],
    [429, /asked too often: try again in some minutes/],
    [500, /HTTP 500/],
  ] as const) {
    it(`HTTP ${status} is told in words`, async () => {
      const model = await readRepository(NAME, hub);
      local.faults.status = status;
      await assert.rejects(readRepository(NAME, hub), words);
      const files = variantsOf(model)[0]?.files ?? [];
      const signal = new AbortController().signal;
      await assert.rejects(download({ hub, model, files, folder, signal, retryMs: 1 }), words);
    });
  }

  it('a hub that says how long to wait is quoted', async () => {
    const model = await readRepository(NAME, hub);
    Object.assign(local.faults, { status: 429, retryAfter: '12' });
    const files = variantsOf(model)[0]?.files ?? [];
    const signal = new AbortController().signal;
    await assert.rejects(
      download({ hub, model, files, folder, signal, retryMs: 1 }),
      /try again in 12 seconds/,
    );
  });

  it('a hub that is not there is told with its address and with what to do', async () => {
    local.stop();
    await assert.rejects(
      readRepository(NAME, hub),
      /org\/Tiny-Chat: http:.* cannot be reached \(ECONNREFUSED\): a proxy, .* is set with http\.proxy, a mirror with/,
    );
    const offline = { ...hub, url: 'https://hub.invalid', fetch: failing('ENOTFOUND') };
    await assert.rejects(readRepository(NAME, offline), /\(ENOTFOUND\): are you offline\?/);
    const inspected = { ...hub, fetch: failing('SELF_SIGNED_CERT_IN_CHAIN') };
    await assert.rejects(readRepository(NAME, inspected), /proxy that reads along.*certificate/);
  });

  it(
    'say when the disk is full in the middle, and try no further',
    { skip: !existsSync('/dev/full') },
    async () => {
      // Every write to this device fails as on a full disk.
      symlinkSync('/dev/full', join(folder, 'model.safetensors.part'));
      await assert.rejects(get(), /model\.safetensors: the disk is full; free some space/);
      const tries = local.requests.filter(({ path }) => path.endsWith('.safetensors'));
      assert.equal(tries.length, 1);
    },
  );

  it('a token goes along when there is one', async () => {
    hub = { ...hub, token: 'hf_secret' };
    await get();
    assert(local.requests.every(({ authorization }) => authorization === 'Bearer hf_secret'));
  });

  it('in several GGUF files are one, and no projector nor a second copy of the weights is among them', () => {
    const file = (path: string) => ({ path, sizeBytes: 10, checksum: null });
    const files = [
      'config.json',
      'consolidated.safetensors',
      'model-00001-of-00002.safetensors',
      'model-00002-of-00002.safetensors',
      'big-Q4_K_M-00002-of-00002.gguf',
      'big-Q4_K_M-00001-of-00002.gguf',
      'small-Q4_K_M.gguf',
    ].map(file);
    const variants = variantsOf({ name: NAME, revision: REVISION, license: 'mit', files });
    assert.deepEqual(
      variants.map(({ label, sizeBytes }) => [label, sizeBytes]),
      [
        ['safetensors', 30],
        ['big-Q4_K_M-00001-of-00002.gguf', 20],
        ['small-Q4_K_M.gguf', 10],
      ],
    );
    assert(!isModelFile('mmproj-model-f16.gguf'));
  });

  it('have names of two parts, and no others', () => {
    assert(isRepositoryName('Qwen/Qwen2.5-Coder-0.5B-Instruct'));
    for (const name of ['Qwen', 'a/b/c', '../x', 'a/..', 'a/b?x', 'https://x/y', '']) {
      assert(!isRepositoryName(name), name);
    }
  });
});

/** A network without this hub. */
function failing(code: string): typeof fetch {
  return async () => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
  };
}
