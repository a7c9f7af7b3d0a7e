import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** package.json lies above the sources, and above the bundles of a package. */
export function packageVersion(): string {
  for (const up of ['..', '../..', '../../..']) {
    try {
      const json = JSON.parse(readFileSync(join(__dirname, up, 'package.json'), 'utf8')) as unknown;
      const { name, version } = json as { name?: unknown; version?: unknown };
      if (name === 'anllm' && typeof version === 'string') return version;
    } catch {
      // Not there; the next folder is looked at.
    }
  }
  return '0.0.0';
}
