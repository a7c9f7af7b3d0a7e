import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A folder for the user alone, with those above it that are missing. mkdir's own `recursive` never ends where a file system
 * denies that a folder is missing, as /proc does.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    const parent = dirname(folder);
    if (code !== 'ENOENT' || parent === folder) throw error;
    makeFolder(parent);
    mkdirSync(folder, { mode: 0o700 });
  }
}
