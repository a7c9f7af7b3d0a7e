import { createHash } from 'node:crypto';
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Program } from '../core/program';
import { tensorsOf, type Weight } from '../loading/weights';
import type { BackendName, PackedCacheOptions, Precision } from './backend';
import { GPU_STARTS } from './gpu_starts';
import { makeFolder } from './make_folder';
import { describeWeights } from './weight_identity';

/** Changes with the layouts of native/kernels/matrix.h and native/metal/program/weights.cpp, and with what packing does. */
const VERSION = 5;
const ENDING = '.weights';
const NOTE = '.note';
/** Of files of `TableFiles`. */
export const TABLES = '.tables';
const PIPELINES = 'pipelines';
/** Smaller models are packed in less time than a file is worth. */
const MIN_BYTES = 64 * 2 ** 20;
const MAX_BYTES = 24 * 2 ** 30;
/** Packed weights are about as large as the stored ones, and a disk should not be filled by a cache. */
const FREE_FACTOR = 2;
const DRAFT_LIVES_MS = 24 * 60 * 60 * 1000;
const SMALL_LIVES_MS = 90 * DRAFT_LIVES_MS;

/** Paths; '' for what is not to be kept, or cannot be. */
export interface PackedEntry {
  /** The packed weights, which the addon reads or writes. */
  readonly file: string;
  /** A line about the model. */
  readonly note: string;
}
const NOWHERE: PackedEntry = { file: '', note: '' };

/** The user's folder for what can be made again. The environment variable ANLLM_CACHE names another. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.ANLLM_CACHE) return env.ANLLM_CACHE;
  const base =
    process.platform === 'darwin'
      ? join(homedir(), 'Library', 'Caches')
      : env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(base, 'anllm');
}

/** Where packed weights and what belongs to them are, in the folder for what can be made again. */
export function packedFolder(folder: string): string {
  return join(folder, 'packed');
}

/**
 * Weights in the layout of the kernels, on disk: packing a large model takes as long as reading it, mapping what was packed
 * takes none. The addon reads and writes the files; this names them and keeps them within a size.
 */
export class PackedCache {
  private readonly folder: string;

  constructor(private readonly options: PackedCacheOptions) {
    this.folder = packedFolder(options.folder);
  }

  /**
   * Where the packed weights of a program, and what is known of it, are or are to be written. The names say everything
   * that counts: two models, backends, precisions or versions never share a file.
   */
  entryFor(
    backend: BackendName,
    program: Program,
    weights: readonly Weight[],
    precision: Precision,
  ): PackedEntry {
    try {
      const place = join(this.folder, keyOf(backend, program, weights, precision));
      const bytes = weights
        .flatMap((weight) => tensorsOf(weight))
        .reduce((sum, { byteLength }) => sum + byteLength, 0);
      const isWorthIt = bytes >= (this.options.minBytes ?? MIN_BYTES);
      const hasRoom = isWorthIt && this.makeRoom(`${place}${ENDING}`, bytes);
      return { file: hasRoom ? `${place}${ENDING}` : '', note: `${place}${NOTE}` };
    } catch {
      return NOWHERE; // a folder that cannot be written, or a file of the model that has gone: loading will say it
    }
  }

  /** What `remember` was given for this entry; null when there is nothing. */
  recall({ note }: PackedEntry): string | null {
    try {
      const line = readFileSync(note, 'utf8');
      touch(note);
      return line;
    } catch {
      return null;
    }
  }

  /** Keeps a line about the model of an entry. */
  remember({ note }: PackedEntry, line: string): void {
    if (note === '') return;
    const draft = `${note}.${process.pid}.tmp`;
    try {
      makeFolder(this.folder);
      writeFileSync(draft, line, { mode: 0o600 });
      renameSync(draft, note);
    } catch {
      // It can be found out again, and `trim` removes a draft that is left.
    }
  }

  /** The folder for compiled pipelines of the GPU; '' when it cannot be made. */
  pipelineFolder(): string {
    try {
      const folder = join(this.options.folder, PIPELINES);
      makeFolder(folder);
      return folder;
    } catch {
      return '';
    }
  }

  /** Removes all files, compiled pipelines, and what is known of starts of the GPU; returns how many packed weights, and their bytes. */
  clear(): { files: number; bytes: number } {
    const entries = this.entries();
    for (const { path } of entries) remove(path);
    for (const name of [PIPELINES, GPU_STARTS])
      rmSync(join(this.options.folder, name), { recursive: true, force: true });
    const weights = entries.filter(({ path }) => path.includes(ENDING));
    return { files: weights.length, bytes: weights.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** Whether packed weights are in `file` or may be written there. */
  private makeRoom(file: string, bytes: number): boolean {
    makeFolder(this.folder);
    const isThere = touch(file);
    this.trim(isThere ? 0 : bytes, file);
    const { bavail, bsize } = statfsSync(this.folder);
    return isThere || bavail * bsize > FREE_FACTOR * bytes;
  }

  /** Makes room for `bytes` more, and removes what crashes have left and what nobody has asked for in a long time. */
  private trim(bytes: number, kept: string): void {
    const now = Date.now();
    const entries = this.entries().sort((a, b) => a.time - b.time);
    let total = bytes + entries.reduce((sum, entry) => sum + entry.bytes, 0);
    for (const entry of entries) {
      const isWeights = entry.path.endsWith(ENDING);
      const isSmall = entry.path.endsWith(NOTE) || entry.path.endsWith(TABLES);
      const livesMs = isSmall ? SMALL_LIVES_MS : DRAFT_LIVES_MS;
      const isOld = !isWeights && now - entry.time > livesMs;
      const isTooMuch = isWeights && total > (this.options.maxBytes ?? MAX_BYTES);
      if (entry.path === kept || !(isOld || isTooMuch)) continue;
      remove(entry.path);
      total -= entry.bytes;
    }
  }

  private entries(): { path: string; bytes: number; time: number }[] {
    let names: string[];
    try {
      names = readdirSync(this.folder);
    } catch {
      return [];
    }
    return names.flatMap((name) => {
      const path = join(this.folder, name);
      const status = statSync(path, { throwIfNoEntry: false });
      const hasEnding = [ENDING, NOTE, TABLES].some((ending) => name.includes(ending));
      const isOurs = hasEnding && status?.isFile() === true;
      return isOurs ? [{ path, bytes: status.size, time: status.mtimeMs }] : [];
    });
  }
}

function remove(file: string): void {
  rmSync(file, { force: true });
}

/** Marks a file as used; false when there is none. */
export function touch(file: string): boolean {
  try {
    const now = new Date();
    utimesSync(file, now, now);
    return true;
  } catch {
    return false;
  }
}

function keyOf(
  backend: BackendName,
  program: Program,
  weights: readonly Weight[],
  precision: Precision,
): string {
  const described = describeWeights(program, weights);
  return createHash('sha256')
    .update(JSON.stringify([VERSION, backend, precision, described]))
    .digest('hex');
}
