import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, resolve, sep } from 'node:path';
import { badModel, messageOf } from './bad_model';

/** readSync takes lengths below 2^31. */
const MAX_READ = 1 << 30;
/** Bytes at each end of a file that stand for all of it, beside its length and time. */
const SAMPLE_BYTES = 64 * 1024;

/** An open regular file below an allowed root. A model folder is data: nothing outside of it is ever read. */
export class ModelFile {
  private constructor(
    /** Absolute path, as the caller knows it. */
    readonly path: string,
    readonly size: number,
    private readonly modifiedMs: number,
    private readonly descriptor: number,
  ) {}

  /**
   * Opens `path`, whose real path must lie below `root` (see `allowedRoot`). Throws EngineError bad_model for a missing
   * file, a folder, a FIFO, a device, or a link that leads elsewhere.
   */
  static open(path: string, root: string): ModelFile {
    const absolute = resolve(path);
    let descriptor: number;
    try {
      // A FIFO without a writer would block open() for ever. Windows has neither the flag nor FIFOs.
      descriptor = openSync(absolute, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    } catch (error) {
      throw badModel(
        absolute,
        isMissing(error) ? 'missing' : `cannot be opened: ${messageOf(error)}`,
        error,
      );
    }
    try {
      const stat = fstatSync(descriptor);
      const real = realpathSync(absolute);
      const target = statSync(real);
      const inside = real.startsWith(root.endsWith(sep) ? root : root + sep);
      // The inode comparison closes the gap between open() and realpath().
      if (!stat.isFile() || !inside || target.ino !== stat.ino || target.dev !== stat.dev) {
        throw badModel(absolute, `not a regular file inside the allowed root ${root}`);
      }
      return new ModelFile(absolute, stat.size, stat.mtimeMs, descriptor);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Bytes [offset, offset + length) in a fresh buffer. Throws when the file is no longer what was opened. */
  read(offset: number, length: number): Uint8Array<ArrayBuffer> {
    const size = fstatSync(this.descriptor).size;
    if (size !== this.size) {
      throw badModel(
        this.path,
        `changed while in use: got ${size} bytes, expected ${this.size}; load the model again`,
      );
    }
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length;) {
      const count = readSync(
        this.descriptor,
        bytes,
        done,
        Math.min(length - done, MAX_READ),
        offset + done,
      );
      if (count === 0) {
        throw badModel(
          this.path,
          `changed while in use: ended at byte ${offset + done}; load the model again`,
        );
      }
      done += count;
    }
    return bytes;
  }

  /** What the file holds, without reading all of it: a replaced one has another time, length or beginning. */
  identity(): string {
    const { size, modifiedMs } = this;
    const hash = createHash('sha256').update(`${size} ${modifiedMs} `);
    const sample = Math.min(SAMPLE_BYTES, size);
    hash.update(this.read(0, sample)).update(this.read(size - sample, sample));
    return hash.digest('hex');
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/**
 * The folder that the files of a model folder may really lie in: the folder itself, except in a Hugging Face cache,
 * where `models--org--name/snapshots/<revision>/x` links to `models--org--name/blobs/<hash>`.
 */
export function allowedRoot(folder: string): string {
  const real = realpathSync(folder);
  const snapshots = dirname(real);
  const repository = dirname(snapshots);
  const isHubSnapshot =
    basename(snapshots) === 'snapshots' && basename(repository).startsWith('models--');
  return isHubSnapshot ? repository : real;
}

export function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOENT' || error.code === 'ENOTDIR')
  );
}
