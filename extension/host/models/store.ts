import { readdir, readFile, rm, writeFile, mkdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import * as l10n from '@vscode/l10n';
import { amount, list, nullable, object, text } from '../../protocol/check';
import { FOLDER, isModelFile, isRepositoryName, type RemoteFile, type Variant } from './repository';
import { sizeOf } from './sizes';

/** A download from its beginning to its end: what to fetch, of which state of the repository. */
export interface Plan {
  readonly name: string;
  readonly revision: string;
  /** Of the variant: `safetensors`, or the GGUF file. */
  readonly label: string;
  readonly files: readonly RemoteFile[];
}

/** A download that can go on. */
export interface Unfinished {
  readonly plan: Plan;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

const SUFFIX = '.download.json';
const PART = '.part';
const GGUF_OR_PART = /\.gguf(\.part|\.lock|\.download\.json)?$/i;

const checkPlan = object<Plan>({
  name: text(200),
  revision: text(64),
  label: text(300),
  files: list(
    object<RemoteFile>({ path: text(300), sizeBytes: amount, checksum: nullable(text(80)) }),
    4096,
  ),
});

/**
 * Models that anllm downloaded: `folder/ORGANISATION/NAME`, as LM Studio and others lay them out. Beside the files of an
 * unfinished one lies its plan.
 */
export class ModelStore {
  constructor(readonly folder: string) {}

  folderOf(repository: string): string {
    return join(this.folder, ...repository.split('/'));
  }

  /** What `anllm.chat.model` names when the variant is there: its GGUF file, or the folder. */
  pathOf(repository: string, { files, label }: Pick<Variant, 'files' | 'label'>): string {
    const folder = this.folderOf(repository);
    return label === FOLDER ? folder : join(folder, files[0]?.path ?? label);
  }

  /** True for a path that is a downloaded model, which alone anllm deletes. */
  owns(path: string): boolean {
    return path.startsWith(this.folder + sep);
  }

  /** Deletes a downloaded file or folder, of a split model all parts, and the folders that are empty then. */
  async remove(path: string): Promise<void> {
    if (!this.owns(path))
      throw new Error(l10n.t('{path} was not downloaded by anllm, so it stays', { path }));
    const parts = /^(.+-)\d{5}(-of-\d{5}\.gguf)$/i.exec(path);
    if (parts === null) await removeVariant(path);
    else {
      const [, start = '', end = ''] = parts;
      for (const name of await readdir(join(path, '..'))) {
        const file = join(path, '..', name);
        if (file.startsWith(start) && file.endsWith(end)) await rm(file);
      }
    }
    await this.removeEmpty(join(path, '..'));
  }

  /** Remembers what is being downloaded, for a later session to go on with. */
  async begin(plan: Plan): Promise<void> {
    await mkdir(this.folderOf(plan.name), { recursive: true });
    await writeFile(this.planFile(plan), JSON.stringify(plan));
  }

  /** The download is done. */
  async end(plan: Plan): Promise<void> {
    await rm(this.planFile(plan), { force: true });
  }

  /** Gives a download up, and deletes what came of it. */
  async discard(plan: Plan): Promise<void> {
    const folder = this.folderOf(plan.name);
    for (const { path } of plan.files) {
      await rm(join(folder, path), { force: true });
      await rm(join(folder, path + PART), { force: true });
    }
    await this.end(plan);
    await this.removeEmpty(folder);
  }

  async unfinished(): Promise<Unfinished[]> {
    const names = await readdir(this.folder, { recursive: true }).catch(() => []);
    const found: Unfinished[] = [];
    for (const name of names.filter((each) => each.endsWith(SUFFIX)).sort()) {
      const plan = await readPlan(join(this.folder, name));
      if (plan === null) continue;
      const totalBytes = plan.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      found.push({ plan, doneBytes: await this.doneBytes(plan), totalBytes });
    }
    return found;
  }

  private async doneBytes({ name, files }: Plan): Promise<number> {
    const folder = this.folderOf(name);
    let done = 0;
    for (const { path } of files) {
      done += (await sizeOf(join(folder, path))) ?? (await sizeOf(join(folder, path + PART))) ?? 0;
    }
    return done;
  }

  private planFile({ name, label }: Plan): string {
    return join(this.folderOf(name), label + SUFFIX);
  }

  private async removeEmpty(folder: string): Promise<void> {
    for (let parent = folder; this.owns(parent); parent = join(parent, '..')) {
      const names = await readdir(parent).catch(() => ['']);
      if (names.length > 0) return;
      await rm(parent, { recursive: true });
    }
  }
}

/** A file, or a folder without the GGUF files in it, which are models of their own, with what comes of them yet. */
async function removeVariant(path: string): Promise<void> {
  const names = await readdir(path).catch(() => null);
  const others = (names ?? []).filter((name) => GGUF_OR_PART.test(name));
  if (names === null || others.length === 0) return remove(path);
  for (const name of names) if (!others.includes(name)) await remove(join(path, name));
}

/** On Windows a file stays for the moment that the engine needs to let it go. */
async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Null for what is no plan: files of ours, but on a disk that others write to as well. */
async function readPlan(file: string): Promise<Plan | null> {
  try {
    const plan = checkPlan(JSON.parse(await readFile(file, 'utf8')), file);
    const isSafe = isRepositoryName(plan.name) && plan.files.every(({ path }) => isModelFile(path));
    return isSafe ? plan : null;
  } catch {
    return null;
  }
}
