import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { closedLoop, openLoop } from '../../../extension/engine/cli/bench_serve/load';
import { plot } from '../../../extension/engine/cli/bench_serve/plot';
import { jain, reportOf } from '../../../extension/engine/cli/bench_serve/report';
import { table } from '../../../extension/engine/cli/bench_serve/table';
import { Endpoint } from '../../../extension/engine/remote/endpoint';
import { events, FakeServer, json, type Answer } from '../remote/fake_server';

let server: FakeServer | undefined;
afterEach(() => server?.close());

async function work(answer: Answer) {
  server = await FakeServer.start({ 'POST /v1/completions': answer });
  const endpoint = new Endpoint({ url: server.url, apiKey: '' });
  return { endpoint, model: 'm', maxTokens: 3, prompt: (index: number) => `prompt ${index}` };
}
const three = events(['a', 'b', 'c'].map((text) => ({ choices: [{ text }] })));

describe('bench serve', () => {
  test('a closed loop sends every request once, never more at a time than it has clients', async () => {
    let [running, most] = [0, 0];
    const samples = await closedLoop(
      await work(async (response, asked) => {
        most = Math.max(most, ++running);
        await three(response, asked);
        running--;
      }),
      3,
      10,
    );
    assert.equal(samples.length, 10);
    assert.ok(
      most <= 3 && samples.every(({ arrivals, error }) => arrivals.length === 3 && error === null),
    );
    assert.deepEqual(
      server?.asked.map(({ body }) => body.prompt).toSorted(),
      Array.from({ length: 10 }, (_, i) => `prompt ${i}`).toSorted(),
    );
  });

  test('an open loop waits for nobody', async () => {
    const waiting: (() => void)[] = [];
    const running = openLoop(
      await work(async (response, asked) => {
        await new Promise<void>((go) => {
          waiting.push(go);
          if (waiting.length === 5) for (const each of waiting) each();
        });
        await three(response, asked);
      }),
      1000,
      5,
      () => 0.5,
    );
    assert.equal((await running).length, 5);
  });

  test('failed requests are counted, and the first reason is told', async () => {
    const samples = await closedLoop(await work(json(503, { error: { message: 'busy' } })), 2, 4);
    const report = reportOf('2', samples);
    assert.equal(report.errors, 4);
    assert.match(report.first_error ?? '', /HTTP 503: busy/);
    assert.equal(report.tok_s, 0);
  });

  test('figures of a known run', () => {
    const sample = (sentMs: number, ...arrivals: number[]) => ({ sentMs, arrivals, error: null });
    const report = reportOf('2', [sample(0, 100, 200, 300), sample(700, 100, 200, 300)]);
    assert.equal(report.tok_s, 6);
    assert.equal(report.requests_s, 2);
    assert.deepEqual(report.ttft_ms, { p50: 100, p95: 100, p99: 100 });
    assert.deepEqual(report.inter_token_ms, { p50: 100, p95: 100, p99: 100 });
    assert.equal(report.fairness, 1);
    assert.ok(Math.abs(jain([1, 0, 0, 0]) - 0.25) < 1e-9);
  });

  test('the columns of the table stay apart, however slow the server is', () => {
    const slow = [12_503.5, 22_869.5].map((ms) => ({ sentMs: 0, arrivals: [ms], error: null }));
    const fast = [{ sentMs: 0, arrivals: [1, 2], error: null }];
    const rows = table([reportOf('1', fast), reportOf('32', slow)])
      .trimEnd()
      .split('\n');
    assert.equal(new Set(rows.map((row) => row.length)).size, 1);
    assert.deepEqual(
      rows.map((row) => row.split(/ {2,}/).length),
      [7, 7, 7],
    );
  });

  test('the plot is one SVG with a point for each load', () => {
    const report = reportOf('a<b', [{ sentMs: 0, arrivals: [10, 20], error: null }]);
    const svg = plot('title & more', [report, report]);
    assert.match(svg, /^<svg [^>]*>[\s\S]*<\/svg>\n$/);
    assert.equal(svg.match(/<circle/g)?.length, 6);
    assert.ok(!svg.includes('a<b') && !svg.includes('NaN'));
  });
});
