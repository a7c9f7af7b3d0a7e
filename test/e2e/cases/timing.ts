import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { distribution, saveReport, show } from '../report';
import type { Session } from '../session';
import type { Case } from '../suite';
import { CART, HARD_TO_GUESS, USUAL } from './samples';

/** A brisk typist: 75 words a minute. */
const KEY_INTERVAL_MS = 160;
const GIVE_UP_MS = 1000;
const INDENT = '  ';
const TARGETS_MS = { p50: 150, p95: 350 };
/** One says little: VS Code counts what other extensions do at that moment. */
const ACTIVATIONS = 3;
/** On a busy machine as many as begin in this time. */
const ACTIVATIONS_MS = 50_000;

interface Keystroke {
  readonly text: string;
  /** From keydown to the frame with the ghost text for the new text; null when none came. */
  readonly shownMs: number | null;
  /** Within the extension host, from the editor's question to the answer; null without a request to the engine. */
  readonly hostMs: number | null;
  /** Of that, within the engine. */
  readonly engineMs: number | null;
}

async function typeTimed(session: Session, lines: readonly string[]): Promise<Keystroke[]> {
  const { editor } = session;
  const keystrokes: Keystroke[] = [];
  for (const line of lines) {
    for (let length = 1; length <= line.length; length++) {
      const nextKey = delay(KEY_INTERVAL_MS);
      const { requests } = await session.counters();
      const text = line.slice(0, length);
      const shownMs = await editor.timeKey(text.slice(-1), `${INDENT}${text}`, GIVE_UP_MS);
      const { counters, decisions } = await session.hostState();
      const decision = counters.requests > requests ? decisions[0] : undefined;
      const engineMs = decision?.result?.timings.totalMs ?? null;
      keystrokes.push({ text, shownMs, hostMs: decision?.elapsedMs ?? null, engineMs });
      await nextKey;
    }
    await editor.press('Enter');
  }
  return keystrokes;
}

/** Only keystrokes that ended in ghost text; how many these are stands beside the figures. */
function figures(keystrokes: readonly Keystroke[]) {
  const shown = keystrokes.filter(({ shownMs }) => shownMs !== null);
  const asked = shown.filter(({ hostMs }) => hostMs !== null);
  const of = (list: readonly Keystroke[], key: 'shownMs' | 'hostMs' | 'engineMs') =>
    distribution(list.flatMap(({ [key]: ms }) => (ms === null ? [] : [ms])));
  return {
    typed: keystrokes.length,
    shown: of(shown, 'shownMs'),
    withRequest: of(asked, 'shownMs'),
    host: of(asked, 'hostMs'),
    engine: of(asked, 'engineMs'),
  };
}

/** Milliseconds of the last activation, in VS Code's own list: the code's loading and the call. */
async function recordedActivation({ workbench }: Session): Promise<number> {
  const { page } = workbench;
  await page.setViewportSize({ width: 1400, height: 2400 }); // the list draws the rows in view
  await workbench.runCommand('Developer: Show Running Extensions');
  const row = page.locator('.runtime-extensions-editor .monaco-list-row');
  const own = row.filter({ has: page.getByText('anllm', { exact: true }) });
  const text = (await own.locator('.activation-time').textContent()) ?? '';
  const milliseconds = Number(/(\d+) ?ms/.exec(text)?.[1]);
  assert.ok(Number.isFinite(milliseconds), `an activation time in "${text}"`);
  await page.setViewportSize({ width: 1400, height: 900 });
  await workbench.closeEditors();
  return milliseconds;
}

export const keystrokeCase: Case = {
  name: 'keystroke to ghost text (target: p50 150 ms, p95 350 ms)',
  run: async (session) => {
    await session.open('latency.ts', CART);
    await session.editor.type('c'); // the first completion loads the model
    await session.editor.waitForGhostText();
    await session.editor.press('Backspace');
    const usual = await typeTimed(session, USUAL);
    const hard = await typeTimed(session, HARD_TO_GUESS);
    const all = figures([...usual, ...hard]);
    saveReport('latency', { targetsMs: TARGETS_MS, ...all, keystrokes: [...usual, ...hard] });
    return [
      `${all.typed} keystrokes, keydown to ghost text: ${show(all.shown)}`,
      `of these with a request to the engine:    ${show(all.withRequest)}`,
      `    of that in the extension host:        ${show(all.host)}`,
      `    of that in the engine:                ${show(all.engine)}`,
    ];
  },
};

export const activationCase: Case = {
  name: 'activation time, as the extension host records it (target: 50 ms)',
  run: async (session) => {
    const times: number[] = [];
    const start = performance.now();
    const isLate = (): boolean => performance.now() - start > ACTIVATIONS_MS;
    while (times.length < ACTIVATIONS && (times.length === 0 || !isLate())) {
      await session.reload();
      times.push(await recordedActivation(session));
    }
    saveReport('activation', { targetMs: 50, ...distribution(times), times });
    return [`activations: ${show(distribution(times))}`];
  },
};
