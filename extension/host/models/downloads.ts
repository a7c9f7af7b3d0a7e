import { open, readFile, rm, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as l10n from '@vscode/l10n';
import { Emitter } from '../lifecycle';
import { download, type DownloadOptions, type Progress } from './download';
import type { Hub } from './repository';
import type { ModelStore, Plan } from './store';

export interface Running {
  readonly plan: Plan;
  readonly progress: Progress;
  /** Bytes a second, over the whole of it. */
  readonly speed: number;
}

interface Active {
  readonly plan: Plan;
  readonly controller: AbortController;
  readonly started: number;
  progress: Progress;
  firstBytes: number | null;
}

export interface DownloadsOptions {
  readonly store: ModelStore;
  /** Opened for each download, so that a new token or hub counts. */
  readonly openHub: (purpose: string) => Promise<Hub>;
  /** Passed on to download(); for tests. */
  readonly limits?: Pick<DownloadOptions, 'freeBytes' | 'retryMs'>;
}

/** The running downloads of this window. Another one of the same files, here or in another window, is refused. */
export class Downloads {
  private readonly active = new Map<string, Active>();
  private readonly changed = new Emitter<void>();
  /** Fires when a download begins, ends or gets on. */
  readonly onChange = this.changed.event;

  constructor(private readonly options: DownloadsOptions) {}

  get running(): readonly Running[] {
    return [...this.active.values()].map(running);
  }

  isRunning(plan: Plan): boolean {
    return this.active.has(keyOf(plan));
  }

  /** What is there stays, for a later run. */
  pause(plan: Plan): void {
    this.active.get(keyOf(plan))?.controller.abort();
  }

  /** Aborts all; for the end of the window. */
  dispose(): void {
    for (const { controller } of this.active.values()) controller.abort();
  }

  /** @returns the path of the model; null when it was paused. Rejects with what happened and what to do. */
  async run(plan: Plan, onProgress: (running: Running) => void): Promise<string | null> {
    const { store, openHub, limits } = this.options;
    if (this.isRunning(plan))
      throw new Error(l10n.t('{name} is being downloaded already', { name: plan.name }));
    const active: Active = {
      plan,
      controller: new AbortController(),
      started: performance.now(),
      progress: { doneBytes: 0, totalBytes: 0 },
      firstBytes: null,
    };
    this.active.set(keyOf(plan), active);
    try {
      return await locked(join(store.folderOf(plan.name), `${plan.label}.lock`), async () => {
        await store.begin(plan);
        this.changed.fire();
        await download({
          hub: await openHub(l10n.t('download of {name}', { name: plan.name })),
          model: plan,
          files: plan.files,
          folder: store.folderOf(plan.name),
          signal: active.controller.signal,
          onProgress: (progress) => {
            active.progress = progress;
            active.firstBytes ??= progress.doneBytes;
            onProgress(running(active));
            this.changed.fire();
          },
          ...limits,
        });
        await store.end(plan);
        return store.pathOf(plan.name, plan);
      });
    } catch (error) {
      if (!active.controller.signal.aborted) throw error;
      return null;
    } finally {
      this.active.delete(keyOf(plan));
      this.changed.fire();
    }
  }
}

function keyOf({ name, label }: Plan): string {
  return `${name} ${label}`;
}

function running({ plan, progress, started, firstBytes }: Active): Running {
  const seconds = Math.max(0.1, (performance.now() - started) / 1000);
  return { plan, progress, speed: (progress.doneBytes - (firstBytes ?? 0)) / seconds };
}

/** Two windows that append to one file would spoil it. The file names the process, so that a dead one's counts for nothing. */
async function locked<T>(file: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  if (!(await take(file))) {
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (owner !== process.pid && isAlive(owner))
      throw new Error(l10n.t('another window is downloading this model'));
    await rm(file, { force: true });
    if (!(await take(file))) throw new Error(l10n.t('another window is downloading this model'));
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(String(process.pid)).finally(() => handle.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
