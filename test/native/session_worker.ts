/** Runs in a worker thread: starts a step and says so; session.test.ts then ends the thread. */
import { parentPort } from 'node:worker_threads';
import { slowParts, slowRunner } from './slow_runner';

void slowRunner().then(async ({ runner, test }) => {
  test.weights.close();
  const step = runner.step(slowParts);
  parentPort?.postMessage('started');
  await step;
});
