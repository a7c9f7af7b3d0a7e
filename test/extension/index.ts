/** Runs inside the extension host: the entry that VS Code calls for `extensionTestsPath`. */
import { writeFileSync } from 'node:fs';
import Mocha, { type Test } from 'mocha';

/** One line of the report; run.mjs prints them. */
export interface Outcome {
  readonly title: string;
  readonly durationMs: number;
  readonly error: string | null;
}

/** Resolves when every test passed. Also writes the outcomes to the file that ANLLM_TEST_RESULTS names. */
export async function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 60_000 });
  mocha.suite.emit('pre-require', globalThis, 'index', mocha);
  await import('./suites');
  const outcomes = await outcomesOf(mocha);
  const file = process.env.ANLLM_TEST_RESULTS;
  if (file) writeFileSync(file, JSON.stringify(outcomes));
  const failed = outcomes.filter(({ error }) => error !== null);
  if (failed.length > 0) {
    throw new Error(failed.map(({ title, error }) => `${title}\n${error}`).join('\n'));
  }
}

async function outcomesOf(mocha: Mocha): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const add = (test: Test, error: string | null): void => {
    outcomes.push({ title: test.fullTitle(), durationMs: test.duration ?? 0, error });
  };
  await new Promise<number>((resolve) => {
    mocha
      .run(resolve)
      .on('pass', (test) => add(test, null))
      .on('fail', (test, error: Error) => add(test, error.stack ?? error.message));
  });
  return outcomes;
}
