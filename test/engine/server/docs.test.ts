import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { format, resolveConfig } from 'prettier';
import { root } from '../../../scripts/lib/process.mjs';
import { serverPage } from '../../../scripts/lib/server_page';

test('docs/server.md is what the server’s tables say (npm run docs:server)', async () => {
  const file = join(root, 'docs/server.md');
  const options = { ...(await resolveConfig(file)), parser: 'markdown' };
  assert.equal(readFileSync(file, 'utf8'), await format(serverPage(), options));
});
