import { PackedCache } from '../backend/packed_cache';
import { SegmentFolder } from './saved/segment_folder';

/**
 * Removes what the engine keeps on disk and makes again when it is needed: packed weights, compiled pipelines, keys and
 * values of conversations. Returns the number of files, and their bytes; pipelines are not counted.
 */
export async function clearCaches(folder: string): Promise<{ files: number; bytes: number }> {
  const packed = new PackedCache({ folder }).clear();
  const saved = await new SegmentFolder({ folder, maxBytes: 0 }).clear();
  return { files: packed.files + saved.files, bytes: packed.bytes + saved.bytes };
}
