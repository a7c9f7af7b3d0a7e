/**
 * Measures the page of the chat view in a browser: first paint, frames while an answer streams into a long conversation,
 * and memory over many answers. Not a test: figures depend on the machine. usage: npm run measure:chat
 */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import type { AssistantTurn, Conversation, Turn } from '../extension/protocol/conversation';
import { buildBundles } from './build/bundles.mjs';
import { send, serveChatPages } from './lib/chat_page';
import { root } from './lib/process.mjs';

const PAINTS = 15;
const WORDS = 10_000;
const TOKENS_PER_SECOND = 200;
const STREAM_SECONDS = 10;
/** The host posts so often. */
const POST_MS = 25;
const ANSWERS = 1000;
/** Of one conversation, before the next begins. */
const ANSWERS_A_CHAT = 20;

const folder = join(root, '.cache', 'measure-chat-view');
const PROSE =
  'The scheduler batches whatever runs at once, and a completion that arrives during the prefill of a chat goes first. ';
const CODE =
  '\n\n```ts\nexport function mean(values: readonly number[]): number {\n  return sum(values) / values.length;\n}\n```\n\n';

function answer(id: string, text: string, state: AssistantTurn['state'] = 'done'): AssistantTurn {
  return {
    role: 'assistant',
    id,
    text,
    reasoning: '',
    reasoningMs: null,
    state,
    problem: '',
    model: 'm',
    stats: null,
  };
}

/** Questions and answers of prose, code and lists, about so many words in all. */
function longConversation(words: number): Conversation {
  const turns: Turn[] = [];
  const text = `${PROSE.repeat(4)}${CODE}- one\n- two\n\n${PROSE.repeat(3)}`;
  const perTurn = text.split(/\s+/).length + 4;
  for (let at = 0; at * perTurn < words; at++) {
    turns.push({ role: 'user', id: `q${at}`, text: 'And what of this?', attachments: [] });
    turns.push(answer(`a${at}`, text));
  }
  return { id: 'long', title: 'Long', createdAt: 0, updatedAt: 0, turns };
}

async function firstPaint(newPage: () => Promise<Page>): Promise<void> {
  const paints: number[] = [];
  const ready: number[] = [];
  for (let run = 0; run < PAINTS; run++) {
    const page = await newPage();
    await page.locator('.composer textarea').waitFor();
    const times = await page.evaluate(async () => {
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      return { paint: paint?.startTime ?? Number.NaN, ready: performance.now() };
    });
    paints.push(times.paint);
    ready.push(times.ready);
    await page.close();
  }
  console.log(
    `first contentful paint: median ${median(paints)} ms, slowest ${Math.max(...paints).toFixed(0)} ms of ${PAINTS}`,
  );
}

async function streaming(page: Page): Promise<void> {
  const long = longConversation(WORDS);
  const running = answer('now', '', 'waiting');
  const question: Turn = { role: 'user', id: 'q', text: 'Go on.', attachments: [] };
  const words = long.turns.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0);
  await send(page, {
    kind: 'conversation',
    conversation: { ...long, turns: [...long.turns, question, running] },
  });
  await page.locator('.answer[aria-busy=true]').waitFor();
  // A token is about four characters.
  const text = `${PROSE.repeat(3)}${CODE}`.repeat(60);
  const perPost = Math.round(((TOKENS_PER_SECOND * POST_MS) / 1000) * 4);
  const frames = await page.evaluate(
    async ([whole, step, every, seconds]) => {
      const gaps: number[] = [];
      const tasks: number[] = [];
      const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) tasks.push(duration);
      });
      observer.observe({ entryTypes: ['longtask'] });
      let last = performance.now();
      let runs = true;
      const frame = (): void => {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        if (runs) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      const started = performance.now();
      for (let at = 0; performance.now() - started < seconds * 1000; at += step) {
        const piece = whole.slice(at, at + step);
        window.postMessage({ kind: 'delta', turn: 'now', part: 'text', text: piece }, '*');
        await new Promise((done) => setTimeout(done, every));
      }
      runs = false;
      observer.disconnect();
      return { gaps: gaps.slice(1), tasks };
    },
    [text, perPost, POST_MS, STREAM_SECONDS] as const,
  );
  const sorted = frames.gaps.toSorted((a, b) => a - b);
  const perSecond = frames.gaps.length / STREAM_SECONDS;
  console.log(
    `streaming ${TOKENS_PER_SECOND} tokens/s into ${words} words: ${perSecond.toFixed(1)} frames/s, gap between frames ` +
      `median ${at(sorted, 0.5)}, 99% ${at(sorted, 0.99)}, longest ${at(sorted, 1)} ms; ` +
      `${frames.tasks.length} tasks over 50 ms`,
  );
}

async function memory(page: Page, devtools: CDPSession): Promise<void> {
  const lines: string[] = [];
  for (let done = 0; done <= ANSWERS; done += 100) {
    if (done > 0) await streamAnswers(page, 100);
    await devtools.send('HeapProfiler.collectGarbage');
    const { metrics } = await devtools.send('Performance.getMetrics');
    const value = (name: string): number =>
      metrics.find((metric) => metric.name === name)?.value ?? 0;
    const heap = (value('JSHeapUsedSize') / 2 ** 20).toFixed(1);
    lines.push(
      `${done}: ${heap} MB, ${value('Nodes')} nodes, ${value('JSEventListeners')} listeners`,
    );
  }
  console.log(`memory after so many streamed answers:\n  ${lines.join('\n  ')}`);
}

/** In conversations of a fixed length; each answer comes in twenty pieces. */
async function streamAnswers(page: Page, count: number): Promise<void> {
  await page.evaluate(
    async ([answers, perChat, prose, code]) => {
      const post = async (message: unknown): Promise<void> => {
        window.postMessage(message, '*');
        await new Promise((done) => setTimeout(done, 0));
      };
      let turns: unknown[] = [];
      for (let at = 0; at < answers; at++) {
        if (at % perChat === 0) turns = [];
        const id = `s${at}`;
        const turn = {
          role: 'assistant',
          id,
          text: '',
          reasoning: '',
          reasoningMs: null,
          state: 'waiting',
          problem: '',
          model: 'm',
          stats: null,
        };
        const question = { role: 'user', id: `u${at}`, text: 'Go on.', attachments: [] };
        const conversation = {
          id: `c${Math.floor(at / perChat)}`,
          title: 'x',
          createdAt: 0,
          updatedAt: 0,
          turns: [...turns, question, turn],
        };
        await post({ kind: 'conversation', conversation });
        let text = '';
        for (let piece = 0; piece < 20; piece++) {
          const more = piece === 10 ? code : prose;
          text += more;
          await post({ kind: 'delta', turn: id, part: 'text', text: more });
        }
        const whole = { ...turn, text, state: 'done' };
        await post({ kind: 'turn', turn: whole });
        turns = [...turns, question, whole];
      }
      await post({
        kind: 'conversation',
        conversation: { id: 'none', title: '', createdAt: 0, updatedAt: 0, turns: [] },
      });
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    },
    [count, ANSWERS_A_CHAT, PROSE, CODE] as const,
  );
}

const at = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);
const median = (values: readonly number[]): string =>
  at(
    values.toSorted((a, b) => a - b),
    0.5,
  );

async function main(): Promise<void> {
  await buildBundles({ minify: true, folder });
  const pages = await serveChatPages(folder);
  try {
    console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
    await firstPaint(() => pages.newPage());
    const page = await pages.newPage();
    await streaming(page);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    await memory(page, devtools);
  } finally {
    await pages.close();
  }
}

void main();
