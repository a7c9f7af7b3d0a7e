import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface OwnCacheFolder {
  readonly folder: string;
  /** Takes the usual one again, and deletes this. */
  readonly restore: () => void;
}

/** Whatever is kept beyond the process goes to a new folder from now on. */
export function ownCacheFolder(): OwnCacheFolder {
  const usual = process.env.ANLLM_CACHE;
  const folder = mkdtempSync(join(tmpdir(), 'anllm-cache-'));
  process.env.ANLLM_CACHE = folder;
  return {
    folder,
    restore: () => {
      if (usual === undefined) delete process.env.ANLLM_CACHE;
      else process.env.ANLLM_CACHE = usual;
      rmSync(folder, { recursive: true });
    },
  };
}
