/** Clients that go away at random: while they send, wait, or read; and what must be left behind: nothing. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Engine } from '../../../extension/engine/engine';
import { loadEngine } from '../../../extension/engine/load_engine';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { Random } from '../generation/scheduler/random';
import { startLab, TOKEN, type Lab } from './lab';
import { served } from './scripted';

const PROMPTS: readonly [string, ...string[]] = [
  'def add(a, b):\n',
  'import os\n\n',
  'class Point:\n    def __init__(self',
  'x = [1, 2, ',
];

export interface Disconnects {
  readonly lab: Lab;
  /** One client, which leaves. */
  leave(): Promise<void>;
  /** Throws unless nothing runs, waits or is held. */
  assertIdle(): Promise<void>;
  close(): Promise<void>;
}

export async function startDisconnects(seed: number): Promise<Disconnects> {
  const engine = await loadEngine({
    modelDir: embeddedModel(),
    backend: 'auto',
    precision: 'fast',
    threads: 2,
    contextLength: 1024,
  });
  const lab = await startLab([served(engine, 'sprout')]);
  const random = new Random(seed);
  return {
    lab,
    leave: () => leave(lab, random),
    assertIdle: () => assertIdle(engine, lab),
    close: async () => {
      await lab.server.close();
      await engine.dispose();
    },
  };
}

function leave(lab: Lab, random: Random): Promise<void> {
  const body = JSON.stringify({
    model: 'sprout',
    prompt: random.pick(PROMPTS).repeat(random.int(1, 12)),
    max_tokens: random.int(1, 60),
    n: random.pick([1, 1, 2, 3]),
    stream: random.chance(0.7),
    temperature: random.pick([0, 1]),
    seed: random.int(0, 1000),
    ...(random.chance(0.3) ? { logprobs: random.int(0, 5) } : {}),
    ...(random.chance(0.2) ? { suffix: '\nprint(x)\n' } : {}),
    ...(random.chance(0.2) ? { echo: true } : {}),
  });
  const request =
    `POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:${lab.server.port}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  // Some leave before they have asked, the others after so many bytes of the answer or so much time.
  const sent = random.chance(0.15) ? random.int(1, request.length - 1) : request.length;
  const wanted = random.int(1, 6000);
  const patienceMs = random.int(0, 120);
  return new Promise((resolve) => {
    const socket = connect(lab.server.port, '127.0.0.1');
    let received = 0;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      received += data.length;
      if (received >= wanted) socket.destroy();
    });
    socket.once('close', () => resolve());
    socket.write(request.slice(0, sent));
    const go = (): void => void (random.chance(0.5) ? socket.resetAndDestroy() : socket.destroy());
    setTimeout(go, patienceMs);
  });
}

async function assertIdle(engine: Engine, lab: Lab): Promise<void> {
  const deadline = performance.now() + 5000;
  const isBusy = () => {
    const { running = 0, waiting = 0 } = engine.metrics() ?? {};
    return running + waiting + lab.server.activeChoices > 0;
  };
  while (isBusy() && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const metrics = engine.metrics();
  assert.ok(metrics);
  const { running, waiting, blocks, freeBlocks, cachedBlocks } = metrics;
  assert.deepEqual([running, waiting, lab.server.activeChoices], [0, 0, 0]);
  assert.equal(freeBlocks + cachedBlocks, blocks, 'no block is held');
  engine.checkIntegrity();
}
