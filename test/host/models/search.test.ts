import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Hub } from '../../../extension/host/models/repository';
import { searchModels } from '../../../extension/host/models/search';
import { LocalHub } from './local_hub';

const FAMILIES = { modelTypes: ['qwen2', 'qwen3', 'gpt_oss'], ggufArchitectures: ['qwen3'] };
const APACHE = { license: 'apache-2.0' };

const GGUF = {
  id: 'Qwen/Qwen3-4B-GGUF',
  downloads: 1000,
  gated: false,
  tags: ['gguf', 'text-generation'],
  cardData: APACHE,
  gguf: { total: 4_022_468_096, architecture: 'qwen3', context_length: 40960 },
};
const MLX = {
  id: 'mlx-community/Qwen3-4B-4bit',
  downloads: 900,
  gated: false,
  tags: ['mlx', 'safetensors'],
  cardData: APACHE,
  config: { model_type: 'qwen3' },
  safetensors: { parameters: { BF16: 1_000_000, U32: 500_000_000 }, total: 501_000_000 },
};
const GATED = {
  id: 'org/gated',
  downloads: 800,
  gated: 'manual',
  tags: ['safetensors'],
  config: { model_type: 'qwen2' },
  safetensors: { parameters: { BF16: 7_000_000_000 }, total: 7_000_000_000 },
};
const quantized = (method: string) => ({
  ...GATED,
  id: `org/${method}`,
  gated: false,
  config: { model_type: 'gpt_oss', quantization_config: { quant_method: method } },
});

describe('a search on a hub', () => {
  let local: LocalHub;
  let hub: Hub;
  beforeEach(async () => {
    local = new LocalHub('org/x', {});
    hub = { url: await local.start(), token: null, fetch };
  });
  afterEach(() => local.stop());

  const search = () => searchModels('qwen 4b', hub, FAMILIES);

  it('shows format, size, parameters, licence, downloads and what is gated', async () => {
    local.listed = [GGUF, MLX, GATED];
    const { hits, leftOut } = await search();
    assert.equal(leftOut, 0);
    assert.deepEqual(hits, [
      {
        name: 'Qwen/Qwen3-4B-GGUF',
        license: 'apache-2.0',
        isGated: false,
        downloads: 1000,
        format: 'GGUF',
        sizeBytes: null,
        parameters: 4_022_468_096,
      },
      {
        name: 'mlx-community/Qwen3-4B-4bit',
        license: 'apache-2.0',
        isGated: false,
        downloads: 900,
        format: 'MLX',
        sizeBytes: 2_002_000_000,
        parameters: null,
      },
      {
        name: 'org/gated',
        license: 'unknown licence',
        isGated: true,
        downloads: 800,
        format: 'safetensors',
        sizeBytes: 14_000_000_000,
        parameters: 7_000_000_000,
      },
    ]);
  });

  it('leaves out what the engine does not run, and says how many', async () => {
    local.listed = [
      GGUF,
      { ...GGUF, id: 'org/rwkv-GGUF', gguf: { total: 1, architecture: 'rwkv7' } },
      { ...MLX, id: 'org/other', config: { model_type: 'mamba' } },
      { ...MLX, id: 'org/pickles', safetensors: undefined },
      quantized('awq'),
      quantized('gptq'),
      quantized('mxfp4'),
    ];
    const { hits, leftOut } = await search();
    assert.deepEqual(
      hits.map(({ name }) => name),
      ['Qwen/Qwen3-4B-GGUF', 'org/mxfp4'],
    );
    assert.equal(leftOut, 5);
  });

  it('sends the words, and the token when there is one', async () => {
    hub = { ...hub, token: 'hf_secret' };
    await search();
    const [request] = local.requests;
    assert.equal(new URLSearchParams(request?.search).get('search'), 'qwen 4b');
    assert.equal(request?.authorization, 'Bearer hf_secret');
    assert.equal(local.requests.length, 1);
  });

  it('takes nothing on trust of what a hub answers', async () => {
    local.listed = [
      null,
      7,
      'x',
      {},
      { ...GGUF, id: '../../etc/passwd' },
      { ...GGUF, id: ['a/b'] },
      { ...GGUF, tags: 'gguf', downloads: 'many', cardData: null },
    ];
    const { hits } = await search();
    assert.deepEqual(
      hits.map(({ name, downloads, license }) => [name, downloads, license]),
      [['Qwen/Qwen3-4B-GGUF', 0, 'unknown licence']],
    );
    local.listed = { error: 'x' };
    await assert.rejects(search(), /does not answer like a model hub/);
  });

  for (const [status, words] of [
    [401, /wants a token/],
    [403, /refuses access/],
    [404, /no such model/],
    [407, /http\.proxy/],
    [429, /try again in 30 seconds/],
    [503, /HTTP 503/],
  ] as const) {
    it(`tells HTTP ${status} in words`, async () => {
      Object.assign(local.faults, { status, retryAfter: '30' });
      await assert.rejects(search(), words);
    });
  }

  it('tells that the hub is not there', async () => {
    local.stop();
    await assert.rejects(search(), /http:.* cannot be reached \(ECONNREFUSED\)/);
  });
});
