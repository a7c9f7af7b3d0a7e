import { memoryBandwidth } from '../backend/native';
import type { Engine } from '../engine';
import { EngineError } from '../errors';
import { median } from '../statistics';
import { benchLatency } from './bench_latency';
import { benchRequest } from './bench_request';
import { benchServe, SERVE_HELP, SERVE_OPTIONS } from './bench_serve/command';
import { EXIT } from './exit_codes';
import { printJson, withEngine } from './load';
import { ENGINE_HELP, ENGINE_OPTIONS, type Command } from './options';

const PROMPTS = [64, 512] as const;
const DECODED = 128;
const MEBIBYTE = 2 ** 20;

export const bench: Command = {
  name: 'bench',
  usage: '[serve | latency]',
  summary:
    'Speed through the whole engine: prefill at 64 and 512 tokens and decode of 128 tokens of one stream, decode of several at once; each the median of several runs. With `serve`: a server under load. With `latency`: completions beside a chat, and cancels.',
  options: {
    ...ENGINE_OPTIONS,
    runs: { type: 'string' },
    streams: { type: 'string' },
    ...SERVE_OPTIONS,
  },
  help: {
    ...ENGINE_HELP,
    runs: 'counted runs after a warm-up; default 5, of latency 40',
    streams: 'requests at once; default 8',
    ...SERVE_HELP,
  },
  async run(values, positionals) {
    const [what, ...rest] = positionals;
    if (what === 'serve' && rest.length === 0) return benchServe(values);
    if (what === 'latency' && rest.length === 0) return benchLatency(values);
    if (what !== undefined) {
      throw new EngineError(
        'bad_request',
        `bench takes nothing, "serve" or "latency", got ${positionals.join(' ')}`,
      );
    }
    const runs = values.integer('runs', 5, { min: 1, max: 1000 });
    const streams = values.integer('streams', 8, { min: 1, max: 64 });
    return withEngine(
      values,
      async (engine) => {
        const started = performance.now();
        await engine.calibrate();
        const calibrationMs = performance.now() - started;
        const report = await measure(engine, runs, streams, calibrationMs);
        if (values.flag('json')) printJson(report);
        else process.stdout.write(table(report));
        return EXIT.ok;
      },
      'when idle',
    );
  },
};

type Report = Record<string, string | number | null>;

async function measure(
  engine: Engine,
  runs: number,
  streams: number,
  calibrationMs: number,
): Promise<Report> {
  const { info } = engine;
  const prefill = new Map<number, number[]>(PROMPTS.map((n) => [n, []]));
  const decode: number[] = [];
  const together: number[] = [];
  const ttft: number[] = [];
  for (let run = -1; run < runs; run++) {
    for (const n of PROMPTS) {
      const sample = await once(
        engine,
        prompt(engine, Math.min(n, info.contextLength - DECODED - 1), run),
      );
      if (run < 0) continue; // warm-up
      prefill.get(n)?.push(sample.prefillTokS);
      if (n !== Math.max(...PROMPTS)) decode.push(sample.decodeTokS);
      else ttft.push(sample.ttftMs);
    }
    const sum = await atOnce(engine, streams, run);
    if (run >= 0) together.push(sum);
  }
  const bandwidth = info.backend === 'cpu' ? memoryBandwidth(info.threads) : null;
  const decodeTokS = median(decode);
  return {
    model: info.title,
    backend: info.backend,
    backend_description: info.backendDescription,
    threads: info.threads,
    load_ms: round(info.loadMs),
    calibration_ms: round(calibrationMs),
    prefill_tok_s: round(median(prefill.get(512) ?? [])),
    prefill_64_tok_s: round(median(prefill.get(64) ?? [])),
    decode_tok_s: round(decodeTokS),
    streams,
    streams_tok_s: round(median(together)),
    ttft_ms: round(median(ttft)),
    peak_rss_mb: round((process.resourceUsage().maxRSS * 1024) / MEBIBYTE),
    bytes_per_token: info.bytesPerToken,
    memory_bandwidth_gb_s: bandwidth === null ? null : round(bandwidth / 1e9),
    bandwidth_share:
      bandwidth === null ? null : round((info.bytesPerToken * decodeTokS) / bandwidth, 3),
    runs,
  };
}

async function once(
  engine: Engine,
  ids: number[],
): Promise<{ prefillTokS: number; decodeTokS: number; ttftMs: number }> {
  const started = performance.now();
  let ttftMs = NaN;
  const { timings, ids: generated } = await engine.generate({
    ...benchRequest(ids, DECODED),
    onText: () => {
      if (Number.isNaN(ttftMs)) ttftMs = performance.now() - started;
      return true;
    },
  });
  return {
    prefillTokS: (ids.length / timings.prefillMs) * 1000,
    decodeTokS: ((generated.length - 1) / timings.decodeMs) * 1000,
    ttftMs,
  };
}

/**
 * Decoded tokens a second of all streams together. Their prompts are read beforehand: else the first streams would
 * decode beside the prefill of the others, which the speed of one stream does not contain.
 */
async function atOnce(engine: Engine, streams: number, run: number): Promise<number> {
  const prompts = Array.from({ length: streams }, (_, i) => prompt(engine, 64, run, i + 1));
  const decode = (ids: number[], maxTokens: number) =>
    engine.generate(benchRequest(ids, maxTokens));
  for (const ids of prompts) await decode(ids, 1);
  const results = await Promise.all(prompts.map((ids) => decode(ids, DECODED)));
  const tokens = results.reduce((sum, { ids }) => sum + ids.length - 1, 0);
  return (tokens / Math.max(...results.map(({ timings }) => timings.decodeMs))) * 1000;
}

/** `length` tokens of program text; the first line differs, so that nothing is in the cache. */
function prompt(engine: Engine, length: number, run: number, stream = 0): number[] {
  const body = Array.from(
    { length: length },
    (_, i) =>
      `export function item${i}(list: readonly number[]): number {\n  return list[${i}] ?? 0;\n}\n`,
  );
  const title = `// ${run + 1}-${length}-${stream}`;
  const ids = engine.tokenizer.encode(`${title}\n${body.join('\n')}`);
  return ids.slice(0, length);
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

function table(report: Report): string {
  return Object.entries(report)
    .map(([key, value]) => `${key.padEnd(22)} ${value ?? 'unknown'}\n`)
    .join('');
}
