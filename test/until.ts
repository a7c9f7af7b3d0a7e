import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;

/**
 * Asks `probe` until it answers with something truthy, and returns that. A probe that throws is asked again. Throws
 * after `timeoutMs` with `what` was awaited and the last answer: a test never sleeps for a fixed time.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 30_000,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await attempt(probe);
    if (answer.ok && answer.value) return answer.value;
    if (Date.now() > deadline) {
      const last = answer.ok ? JSON.stringify(answer.value) : String(answer.error);
      throw new Error(`waited ${timeoutMs} ms for ${what}; last answer: ${last}`);
    }
    await delay(POLL_MS);
  }
}

type Answer<T> = { ok: true; value: T } | { ok: false; error: unknown };

async function attempt<T>(probe: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await probe() };
  } catch (error) {
    return { ok: false, error };
  }
}
