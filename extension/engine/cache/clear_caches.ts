import { PackedCache } from '../backend/packed_cache';
import { SegmentFolder } from './saved/segment_folder';

/** What was removed. */
interface Cleared {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Removes what the engine keeps on disk and makes again when it is needed: packed weights, compiled pipelines, keys and
 * values of conversations. Pipelines are not counted.
 */
export async function clearCaches(folder: string): Promise<Cleared> {
  const packed = new PackedCache({ folder }).clear();
  const kept = await clearConversations(folder);
  return { files: packed.files + kept.files, bytes: packed.bytes + kept.bytes };
}

/** Removes keys and values of conversations. */
export function clearConversations(folder: string): Promise<Cleared> {
  return new SegmentFolder({ folder, maxBytes: 0 }).clear();
}
