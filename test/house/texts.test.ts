import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bundleFile, exportTexts } from '../../scripts/texts.mjs';

test('translators get the texts that the sources have (npm run l10n)', async () => {
  assert.equal(readFileSync(bundleFile, 'utf8'), await exportTexts());
});
