// @ts-check
import { readdirSync } from 'node:fs';
import path from 'node:path';

/** Every file below a folder, as absolute paths. @param {string} dir */
export const filesBelow = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
