import { open, readdir, readFile, rename, rm, stat, statfs, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../backend/make_folder';
import { decodeSegment, encodeSegment, segmentFileBytes, type Segment } from './segment_file';

const FOLDER = 'sessions';
const ENDING = '.kv';
const DRAFT = '.tmp';
/** What nobody has gone on from in this time is removed: it is text of the user. */
const LIVES_MS = 7 * 24 * 60 * 60 * 1000;
/** A draft of another process that is as old as this was left by a crash. */
const DRAFT_LIVES_MS = 60 * 60 * 1000;
/** A disk should not be filled by a cache. */
const FREE_FACTOR = 8;
/** The part of the limit that is freed, or written, until the folder is looked at again. */
const SLACK = 1 / 8;

export interface SegmentFolderOptions {
  /** The user's folder for what can be made again; this class has a folder of its own in there. */
  readonly folder: string;
  /** Of all files together; the least recently used are removed. */
  readonly maxBytes: number;
}

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly usedAt: number;
  readonly isDraft: boolean;
}

/**
 * Keys and values on disk, one file a segment, shared by all processes of the user. Files are written under another name
 * and renamed when they are on the disk, so that a crash leaves whole files; one that is damaged all the same, or is not
 * what its name says, is removed. Only the user can read them (mode 0600). Failures of the disk are misses.
 */
export class SegmentFolder {
  private readonly folder: string;
  /** Bytes that can be written before the folder is looked at again. */
  private room = 0;

  constructor(private readonly options: SegmentFolderOptions) {
    this.folder = join(options.folder, FOLDER);
  }

  /** The blocks of a segment, `bytes` in all, or null when there are none that can be used. */
  async read(segment: Segment, bytes: number): Promise<Uint8Array | null> {
    const path = this.pathOf(segment.key);
    const status = await stat(path).catch(() => null);
    if (status === null) return null;
    const isWhole = status.isFile() && status.size === segmentFileBytes(bytes);
    const file = isWhole ? await readFile(path).catch(() => null) : null;
    const blocks = file && (await decodeSegment(segment, file));
    if (blocks === null) await remove(path);
    return blocks;
  }

  /** Whether there is a file for a key. */
  async has(key: string): Promise<boolean> {
    return (await stat(this.pathOf(key)).catch(() => null))?.isFile() === true;
  }

  /** Keeps a segment; false when the disk does not take it. */
  async write(segment: Segment, blocks: Uint8Array): Promise<boolean> {
    const path = this.pathOf(segment.key);
    const draft = `${path}.${process.pid}${DRAFT}`;
    try {
      makeFolder(this.folder);
      const file = await encodeSegment(segment, blocks);
      if (file.length > this.room) this.room = await this.makeRoom(file.length);
      if (file.length > this.room) return false;
      this.room -= file.length;
      await writeThrough(draft, file);
      await rename(draft, path);
      return true;
    } catch {
      await remove(draft);
      return false;
    }
  }

  /** Marks the segments of one text as used. The first is the last to be removed: the others need it. */
  async touch(keys: readonly string[]): Promise<void> {
    const now = Date.now();
    for (const [i, key] of keys.entries()) {
      const time = new Date(now - i);
      await utimes(this.pathOf(key), time, time).catch(() => {});
    }
  }

  /** Removes everything; returns how many files, and their bytes. */
  async clear(): Promise<{ files: number; bytes: number }> {
    const entries = await this.entries();
    for (const { path } of entries) await remove(path);
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    return { files: entries.length, bytes };
  }

  /** Removes what is too old, and what is too much with `bytes` more; returns how many can be written then. */
  private async makeRoom(bytes: number): Promise<number> {
    const { maxBytes } = this.options;
    const now = Date.now();
    const entries = (await this.entries()).sort((a, b) => a.usedAt - b.usedAt);
    let total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const isFull = total + bytes > maxBytes;
    const most = isFull ? maxBytes - Math.max(bytes, maxBytes * SLACK) : maxBytes;
    for (const entry of entries) {
      const isOld = now - entry.usedAt > (entry.isDraft ? DRAFT_LIVES_MS : LIVES_MS);
      if (!isOld && total <= most) continue;
      await remove(entry.path);
      total -= entry.bytes;
    }
    const { bavail, bsize } = await statfs(this.folder);
    const slack = Math.max(bytes, maxBytes * SLACK);
    return Math.min(maxBytes - total, (bavail * bsize) / FREE_FACTOR, slack);
  }

  private async entries(): Promise<Entry[]> {
    const names = await readdir(this.folder).catch(() => []);
    const entries: Entry[] = [];
    for (const name of names) {
      const path = join(this.folder, name);
      const status = await stat(path).catch(() => null);
      if (!name.includes(ENDING) || status?.isFile() !== true) continue;
      const isDraft = name.endsWith(DRAFT);
      entries.push({ path, bytes: status.size, usedAt: status.mtimeMs, isDraft });
    }
    return entries;
  }

  private pathOf(key: string): string {
    return join(this.folder, `${key}${ENDING}`);
  }
}

/** Returns when the disk has it. */
async function writeThrough(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => {});
}
