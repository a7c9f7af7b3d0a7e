import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EngineError } from '../errors';
import { makeFolder } from './make_folder';

/** In the folder for what can be made again. */
export const GPU_STARTS = 'gpu-starts';
/** One process may have ended for another reason: the window was closed, the computer turned off. */
const ENOUGH = 2;
const LIVES_MS = 7 * 24 * 60 * 60 * 1000;

/**
 * Which processes have begun to use the GPU and not come through: a driver or a compiler that ends the process would end
 * each one that takes its place, and nothing would ever be answered. A file a start, named by the process, as long as it lasts.
 */
export class GpuStarts {
  private readonly folder: string;
  private begun = 0;

  /**
   * `what` begins; one that comes through says nothing about another. `version`: of all that it depends on; what ended under
   * another one does not count.
   */
  constructor(
    cacheFolder: string,
    what: 'self-test' | 'load',
    private readonly version: string,
  ) {
    this.folder = join(cacheFolder, GPU_STARTS, what);
  }

  /**
   * A start begins; call what this returns at its end, with whether it came through. Throws EngineError unavailable when
   * as many processes as are enough have ended on the way, unless it is tried `again`.
   */
  begin({ again = false } = {}): (isThrough: boolean) => void {
    if (!again && this.lost().length >= ENOUGH) {
      throw new EngineError(
        'unavailable',
        'the GPU has ended the engine each time it was started; it is tried again by: anllm doctor, and after the cache is cleared',
      );
    }
    const own = join(this.folder, `${process.pid}-${this.begun++}`);
    const remove = () => rmSync(own, { force: true });
    try {
      makeFolder(this.folder);
      writeFileSync(own, this.version, { mode: 0o600 });
    } catch {
      return () => {}; // where nothing can be written nothing is remembered
    }
    process.once('exit', remove);
    return (isThrough) => {
      process.removeListener('exit', remove);
      remove();
      if (isThrough) for (const file of this.lost()) rmSync(file, { force: true });
    };
  }

  /** Files of processes that have gone. */
  private lost(): string[] {
    let names: string[];
    try {
      names = readdirSync(this.folder);
    } catch {
      return [];
    }
    return names
      .filter((name) => !isRunning(Number.parseInt(name, 10)))
      .map((name) => join(this.folder, name))
      .filter((file) => this.counts(file));
  }

  private counts(file: string): boolean {
    try {
      const isNew = Date.now() - statSync(file).mtimeMs < LIVES_MS;
      if (isNew && readFileSync(file, 'utf8') === this.version) return true;
      rmSync(file, { force: true });
    } catch {
      // Another process has removed it.
    }
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
