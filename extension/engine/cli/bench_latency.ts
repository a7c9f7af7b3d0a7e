import type { Engine } from '../engine';
import { EngineError } from '../errors';
import type { GenerateResult } from '../generation/types';
import { quantile } from '../statistics';
import { benchRequest } from './bench_request';
import { EXIT } from './exit_codes';
import { printJson, withEngine } from './load';
import type { OptionReader } from './options';

const CHAT_TOKENS = 1500;
const COMPLETION_TOKENS = 200;
/** A long answer, so that there is a request to cancel. */
const CHAT_ANSWER = 256;
const WARM_UP = 2;
/** Waits before what is measured, another one in each run, so that it begins at any place of a step. */
const ARRIVALS_MS = 100;
const CANCELS_MS = 20;

/** Milliseconds. */
export interface Times {
  readonly p50: number;
  readonly p95: number;
  readonly most: number;
}

/**
 * What a user at the keyboard notices of a chat that is being read: the time to the first token of a completion that
 * arrives within the chat's prefill, and the time until a cancelled chat has given everything back.
 */
export async function benchLatency(values: OptionReader): Promise<number> {
  const runs = values.integer('runs', 40, { min: 1, max: 1000 });
  return withEngine(values, async (engine) => {
    const report = await measure(engine, runs);
    if (values.flag('json')) printJson(report);
    else process.stdout.write(table(report));
    return EXIT.ok;
  });
}

export type Report = Readonly<Record<string, string | number | Times>>;

export async function measure(engine: Engine, runs: number): Promise<Report> {
  const { info } = engine;
  const chatTokens = Math.min(CHAT_TOKENS, info.contextLength - CHAT_ANSWER - 1);
  if (chatTokens < COMPLETION_TOKENS) {
    throw new EngineError(
      'bad_request',
      `context ${info.contextLength}: bench latency needs ${COMPLETION_TOKENS + CHAT_ANSWER + 1} tokens`,
    );
  }
  const alone: number[] = [];
  const beside: number[] = [];
  const inPrefill: number[] = [];
  const inDecode: number[] = [];
  let late = 0;
  for (let run = -WARM_UP; run < runs; run++) {
    const prefill = startChat(engine, text(engine, chatTokens, `chat ${run}`));
    await passed((7 * (run + WARM_UP)) % ARRIVALS_MS);
    if (prefill.hasText()) late++;
    const waited = await completion(engine, `beside ${run}`);
    await passed((3 * (run + WARM_UP)) % CANCELS_MS);
    const freed = await cancelled(engine, prefill);
    const quiet = await completion(engine, `alone ${run}`);
    const decode = startChat(engine, text(engine, COMPLETION_TOKENS, `answer ${run}`));
    await decode.firstText;
    await passed((3 * (run + WARM_UP)) % CANCELS_MS);
    const stopped = await cancelled(engine, decode);
    if (run < 0) continue;
    beside.push(waited);
    alone.push(quiet);
    inPrefill.push(freed);
    inDecode.push(stopped);
  }
  return {
    model: info.title,
    backend: info.backend,
    threads: info.threads,
    runs,
    chat_tokens: chatTokens,
    completion_tokens: COMPLETION_TOKENS,
    completion_alone_ms: times(alone),
    completion_in_prefill_ms: times(beside),
    cancel_in_prefill_ms: times(inPrefill),
    cancel_in_decode_ms: times(inDecode),
    prefills_over_before: late,
  };
}

interface Chat {
  readonly result: Promise<GenerateResult>;
  readonly firstText: Promise<void>;
  readonly hasText: () => boolean;
  readonly abort: () => void;
}

function startChat(engine: Engine, ids: number[]): Chat {
  const controller = new AbortController();
  let hasText = false;
  let tell: () => void = () => undefined;
  const firstText = new Promise<void>((resolve) => (tell = resolve));
  const result = engine.generate({
    ...benchRequest(ids, CHAT_ANSWER),
    priority: 'chat',
    signal: controller.signal,
    onText: () => {
      hasText = true;
      tell();
      return true;
    },
  });
  return { result, firstText, hasText: () => hasText, abort: () => controller.abort() };
}

/** Milliseconds to the first token of a completion. */
async function completion(engine: Engine, name: string): Promise<number> {
  const ids = text(engine, COMPLETION_TOKENS, name);
  const asked = performance.now();
  await engine.generate({ ...benchRequest(ids, 1), priority: 'completion' });
  return performance.now() - asked;
}

/** Milliseconds until a request that is aborted has ended and its blocks are free. */
async function cancelled(engine: Engine, { abort, result }: Chat): Promise<number> {
  const asked = performance.now();
  abort();
  await result;
  const ms = performance.now() - asked;
  engine.checkIntegrity();
  return ms;
}

/** `length` tokens of program text that no other run has begun with. */
function text(engine: Engine, length: number, name: string): number[] {
  const lines = Array.from(
    { length },
    (_, i) => `const item${i} = list[${i}] ?? ${(i * 7919) % 1000};`,
  );
  return engine.tokenizer.encode(`// ${name}\n${lines.join('\n')}`).slice(0, length);
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function times(sample: readonly number[]): Times {
  const at = (q: number) => Number(quantile(sample, q).toFixed(1));
  return { p50: at(0.5), p95: at(0.95), most: at(1) };
}

function table(report: Report): string {
  return Object.entries(report)
    .map(([key, value]) => {
      const shown =
        typeof value === 'object'
          ? `median ${value.p50}, p95 ${value.p95}, most ${value.most}`
          : value;
      return `${key.padEnd(26)} ${shown}\n`;
    })
    .join('');
}
