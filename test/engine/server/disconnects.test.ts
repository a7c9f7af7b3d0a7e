import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDisconnects } from './disconnects';

/** scripts/soak-server.ts has 10,000. */
const CLIENTS = 240;
const AT_ONCE = 12;

test('clients that leave at random bytes leave nothing behind, and the next one is served', async () => {
  const lab = await startDisconnects(7);
  const params = {
    model: 'sprout',
    prompt: 'def add(a, b):\n    return',
    max_tokens: 8,
    temperature: 0,
  };
  const ask = async () =>
    (await (await lab.lab.fetch('/v1/completions', params)).json()) as {
      choices: { text: string }[];
    };
  const before = (await ask()).choices[0]?.text;
  for (let done = 0; done < CLIENTS; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => lab.leave()));
  }
  await lab.assertIdle();
  assert.equal((await ask()).choices[0]?.text, before);
  await lab.close();
});
