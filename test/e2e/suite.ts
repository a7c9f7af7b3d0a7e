import { join } from 'node:path';
import { cache } from '../../scripts/vscode-lab/lab.mjs';
import type { Lab } from '../../scripts/vscode-lab/lab.mjs';
import { cases } from './cases/index';
import { writeEchoModel } from './template_models';
import { isAlive } from '../is_alive';
import { until } from '../until';
import { hub, startHub } from './hub';
import { Session } from './session';

/** A case checks one behaviour and may return lines of figures for the report. */
export interface Case {
  readonly name: string;
  readonly run: (session: Session) => Promise<readonly string[] | void>;
}

/** A case that hangs ends here, so that the suite ends in time. */
const CASE_TIMEOUT_MS = 120_000;
const SUITE_TIMEOUT_MS = 600_000;

/**
 * VS Code's own focus and menus move while a case drives them. A case that fails gets a second try in a reloaded window,
 * which the report tells; more than this many in a run are a fault of ours.
 */
const SECOND_TRIES = 2;

/** Runs the cases whose name contains `only` in one VS Code, one line each. @returns the exit code */
export async function runSuite(lab: Lab, vsix: string, only: string): Promise<number> {
  const wanted = cases.filter(({ name }) => name.includes(only));
  const start = performance.now();
  const model = writeEchoModel(join(cache, 'e2e', 'echo-model'));
  const settings = { 'anllm.chat.model': model, 'anllm.models.hubUrl': await startHub(model) };
  const session = await Session.start(lab, vsix, { settings });
  let failed = 0;
  let secondTries = 0;
  try {
    for (const item of wanted) {
      const timeLeft = (): number =>
        Math.min(CASE_TIMEOUT_MS, SUITE_TIMEOUT_MS - (performance.now() - start));
      const result = await runCase(session, item, timeLeft());
      if (result === 'passed') continue;
      // What hangs goes on in the same window.
      const again = result === 'failed' && secondTries < SECOND_TRIES;
      if (again) secondTries++;
      if (!again || !(await tryAgain(session, item, timeLeft()))) failed++;
    }
  } finally {
    if (!(await stopCleanly(session))) failed++;
    hub.stop();
  }
  const checks = wanted.length + 1;
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const tried = secondTries > 0 ? `; ${secondTries} had a second try` : '';
  console.log(`e2e: ${checks - failed} of ${checks} checks passed in ${seconds} s${tried}`);
  return failed === 0 && wanted.length > 0 ? 0 : 1;
}

async function tryAgain(session: Session, item: Case, timeoutMs: number): Promise<boolean> {
  console.log('       second try, in a reloaded window:');
  await session.reload();
  return (await runCase(session, item, timeoutMs)) === 'passed';
}

async function runCase(
  session: Session,
  { name, run }: Case,
  timeoutMs: number,
): Promise<'passed' | 'failed' | 'hangs'> {
  const start = performance.now();
  try {
    const figures = await withTimeout(run(session), timeoutMs);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`ok     ${name} (${seconds} s)`);
    for (const line of figures ?? []) console.log(`       ${line}`);
    await session.workbench.closeEditors();
    return 'passed';
  } catch (error) {
    console.log(`FAILED ${name}\n${stackOf(error)}`);
    console.log(`       last decision of the host: ${await lastDecision(session)}`);
    console.log(`       screenshot: ${await session.screenshot(name)}`);
    await session.workbench.closeEditors().catch(() => undefined);
    return error instanceof NotDone ? 'hangs' : 'failed';
  }
}

/** A module that was compiled for CommonJS has its whole text in its address. */
function stackOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return stack.replaceAll(/data:text\/javascript,\S*\?filePath=/g, '');
}

async function lastDecision(session: Session): Promise<string> {
  const state = await session.hostState().catch(() => null);
  return JSON.stringify(state?.decisions[0] ?? null);
}

/** The last check: the engine process ends with VS Code. */
async function stopCleanly(session: Session): Promise<boolean> {
  const name = 'no engine process is left when VS Code has ended';
  const engines = session.engineProcesses();
  await session.stop();
  try {
    await until(name, () => engines.every(({ pid }) => !isAlive(pid)));
    console.log(`ok     ${name}`);
    return true;
  } catch (error) {
    console.log(`FAILED ${name}\n${String(error)}`);
    return false;
  }
}

class NotDone extends Error {}

async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotDone(`not done after ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
