import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { keepsSecrets } from '../../../extension/host/models/hub';
import { NetworkLog } from '../../../extension/host/models/network_log';
import { renderNetwork } from '../../../extension/host/models/network_page';
import { LocalHub, REVISION } from './local_hub';

const FILES = { 'model.safetensors': Buffer.alloc(200_000, 1) };

describe('the record of what was sent', () => {
  let root: string;
  let log: NetworkLog;
  let local: LocalHub;
  let url: string;
  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'anllm-network-'));
    log = new NetworkLog(join(root, 'deep', 'network.jsonl'));
    local = new LocalHub('org/x', FILES);
    url = await local.start();
  });
  afterEach(() => {
    local.stop();
    rmSync(root, { recursive: true, force: true });
  });
  const file = () => `${url}/org/x/resolve/${REVISION}/model.safetensors`;
  const rows = async () =>
    (await log.entries()).map(({ host, purpose, result, receivedBytes }) => [
      host,
      purpose,
      result,
      receivedBytes,
    ]);

  it('is empty at first', async () => assert.deepEqual(await log.entries(), []));

  it('has host, purpose, result and bytes, also in another session', async () => {
    const answer = await log.recorded('download of org/x', fetch)(file());
    assert.equal((await answer.arrayBuffer()).byteLength, 200_000);
    assert.equal(answer.headers.get('content-length'), '200000');
    const { host } = new URL(url);
    const expected = [[host, 'download of org/x', 'HTTP 200', 200_000]];
    assert.deepEqual(await rows(), expected);
    log = new NetworkLog(join(root, 'deep', 'network.jsonl'));
    assert.deepEqual(await rows(), expected);
    const [entry] = await log.entries();
    assert(Math.abs(Date.now() - Date.parse(entry?.time ?? '')) < 600_000);
  });

  it('has what was refused, what broke off and what got no answer', async () => {
    const send = log.recorded('search for “x”', fetch);
    local.faults.status = 403;
    await (await send(file())).text();
    local.faults.status = null;
    local.faults.breakAfter = [50_000];
    await assert.rejects((await send(file())).arrayBuffer());
    local.stop();
    await assert.rejects(send(file()));
    const results = (await log.entries()).map(({ result }) => result);
    assert.deepEqual(results, ['HTTP 403', 'HTTP 200, broken off', 'no answer (ECONNREFUSED)']);
  });

  it('has what was given up in the middle', async () => {
    local.faults.stallAfter = 1000;
    const controller = new AbortController();
    const send = log.recorded('download', fetch);
    const answer = await send(file(), { signal: controller.signal });
    const reading = answer.arrayBuffer();
    controller.abort();
    await assert.rejects(reading, { name: 'AbortError' });
    assert.match((await log.entries())[0]?.result ?? '', /broken off/);
  });

  it('stays small, and reads past what another program spoilt', async () => {
    const path = join(root, 'full.jsonl');
    log = new NetworkLog(path);
    writeFileSync(path, `{"torn\n${'x'.repeat(1_100_000)}\n`);
    await (await log.recorded('files of org/x', fetch)(file())).arrayBuffer();
    assert(statSync(path).size < 600_000);
    assert.equal((await log.entries()).length, 1);
  });
});

describe('the page of what was sent', () => {
  const facts = { entries: [], hubUrl: 'https://huggingface.co', remoteUrl: null, serverUrl: null };

  it('says that nothing was sent while nothing was', () => {
    const page = renderNetwork(facts);
    assert.match(page, /is sent nowhere: models run on this computer/);
    assert.match(page, /Telemetry\*\*: none/);
    assert.match(page, /None, since anllm was installed\./);
  });

  it('says where what is typed goes once a remote server is set, and that the port is open', () => {
    const page = renderNetwork({
      ...facts,
      remoteUrl: 'http://10.0.0.1:8080',
      serverUrl: 'http://127.0.0.1:8642/v1',
    });
    assert.match(page, /is sent to `http:\/\/10\.0\.0\.1:8080`, because `anllm\.remote\.url`/);
    assert.match(page, /listens on `http:\/\/127\.0\.0\.1:8642\/v1`/);
    assert.doesNotMatch(page, /sent nowhere/);
  });

  it('lists requests, newest first, as text alone', () => {
    const entry = (purpose: string, time: string, receivedBytes: number) => ({
      time,
      host: 'hub.example',
      purpose,
      result: 'HTTP 200',
      receivedBytes,
    });
    const page = renderNetwork({
      ...facts,
      entries: [
        entry('search for “<img src=x> [a](b)|c”', '2026-01-02T03:04:05.678Z', 950),
        entry('download of org/x', '2026-01-03T03:04:05.678Z', 4_700_000_000),
      ],
    });
    const lines = page.split('\n').filter((line) => line.includes('hub.example'));
    assert.equal(
      lines[0],
      '| 2026-01-03 03:04:05 UTC | hub.example | download of org/x                      | HTTP 200 | 4.7 GB   |',
    );
    assert(lines[1]?.includes('\\<img src=x\\> \\[a\\](b)\\|c'), lines[1]);
  });
});

it('a token goes over an encrypted line, or stays on this computer', () => {
  const kept = [
    'https://huggingface.co',
    'http://127.0.0.1:80',
    'http://localhost',
    'http://[::1]',
  ];
  for (const url of kept) assert(keepsSecrets(url), url);
  for (const url of ['http://hub.example', 'http://127.0.0.1.evil.example']) {
    assert(!keepsSecrets(url), url);
  }
});
