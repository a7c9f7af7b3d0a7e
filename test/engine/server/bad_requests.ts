/** Requests that must be refused, and what the client is told; each test file runs its own table of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lab } from './lab';

export interface BadRequest {
  readonly name: string;
  readonly path: string;
  /** An object, or a body as it is. */
  readonly body: unknown;
  readonly status?: number;
  readonly code: string;
  readonly param?: string | null;
}

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

/** One test a row; `good` must succeed after each. */
export function testBadRequests(
  rows: readonly BadRequest[],
  lab: () => Lab,
  good: { readonly path: string; readonly body: unknown },
): void {
  for (const { name, path, body, status = 400, code, param } of rows) {
    test(`${name}: ${status} ${code}`, async () => {
      const started = performance.now();
      const answer = await lab().fetch(path, body);
      const text = await answer.text();
      assert.equal(answer.status, status, text.slice(0, 300));
      const { error } = JSON.parse(text) as ErrorBody;
      assert.equal(error.code, code, error.message);
      if (param !== undefined) assert.equal(error.param, param);
      assert.ok(error.message.length > 0 && error.message.length < 700, error.message);
      assert.equal(error.type, status === 429 ? 'rate_limit_error' : 'invalid_request_error');
      assert.deepEqual(Object.keys(error).slice(0, 4), ['message', 'type', 'param', 'code']);
      assert.ok(performance.now() - started < 3000, 'refused without work');
      const next = await lab().fetch(good.path, good.body);
      assert.equal(next.status, 200, 'a good request succeeds after it');
      await next.text();
      assert.equal(lab().server.activeChoices, 0);
    });
  }
}

/** Brackets in brackets. */
export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
