import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as l10n from '@vscode/l10n';
import { number } from '../../protocol/numbers';
import { causeOf, problemOf, statusProblem } from './problems';
import type { Hub, RemoteFile, RemoteRevision } from './repository';
import { showBytes, sizeOf } from './sizes';

export interface Progress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface DownloadOptions {
  readonly hub: Hub;
  readonly model: RemoteRevision;
  /** Of the model's. */
  readonly files: readonly RemoteFile[];
  /** Made when it is missing. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Bytes free at a path, and how long to wait before another attempt; for tests. */
  readonly freeBytes?: (path: string) => Promise<number>;
  readonly retryMs?: number;
}

/** A connection that breaks is taken up again so often without a single byte between. */
const MAX_ATTEMPTS = 5;
const RETRY_MS = 1000;
/** The system needs some room itself. */
const SPARE_BYTES = 512 * 2 ** 20;

/**
 * Downloads files so that a name stands only for a whole, checked file: the bytes go to `NAME.part`, which a later
 * download goes on with. An abort keeps what there is. Rejects with what happened and what to do.
 */
export async function download(options: DownloadOptions): Promise<void> {
  const { files, folder, onProgress } = options;
  await mkdir(folder, { recursive: true });
  const done = await Promise.all(files.map(({ path }) => sizeOf(join(folder, path))));
  const parts = await Promise.all(files.map(({ path }) => sizeOf(join(folder, `${path}.part`))));
  const total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let before = 0;
  const missing: RemoteFile[] = [];
  files.forEach((file, index) => {
    if (done[index] === file.sizeBytes) before += file.sizeBytes;
    else missing.push(file);
  });
  const kept = parts.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  await assertRoom(folder, total - before - kept, options.freeBytes);
  for (const file of missing) {
    const base = before;
    await downloadFile(file, options, (bytes) =>
      onProgress?.({ doneBytes: base + bytes, totalBytes: total }),
    );
    before += file.sizeBytes;
  }
  onProgress?.({ doneBytes: total, totalBytes: total });
}

async function downloadFile(
  file: RemoteFile,
  options: DownloadOptions,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const target = join(options.folder, file.path);
  const part = `${target}.part`;
  await mkdir(dirname(target), { recursive: true });
  for (let failures = 0; ;) {
    const start = (await sizeOf(part)) ?? 0;
    if (start > file.sizeBytes) await rm(part);
    else if (start === file.sizeBytes && start > 0) break;
    try {
      await fetchInto(part, file, options, onBytes);
      break;
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof BrokenConnection)) throw error;
      const advanced = ((await sizeOf(part)) ?? 0) > start;
      failures = advanced ? 0 : failures + 1;
      if (failures >= MAX_ATTEMPTS)
        throw new Error(`${file.path}: ${error.message}`, { cause: error });
      await delay(options.retryMs ?? RETRY_MS, undefined, { signal: options.signal });
    }
  }
  await assertChecksum(part, file);
  await rename(part, target);
}

/** Worth another attempt. */
class BrokenConnection extends Error {}

/** Appends to `part` what is missing of it. */
async function fetchInto(
  part: string,
  file: RemoteFile,
  { hub, model, signal }: DownloadOptions,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const have = (await sizeOf(part)) ?? 0;
  const path = file.path.split('/').map(encodeURIComponent).join('/');
  const url = `${hub.url}/${model.name}/resolve/${model.revision}/${path}`;
  const headers = {
    ...(hub.token && { authorization: `Bearer ${hub.token}` }),
    ...(have > 0 && { range: `bytes=${have}-` }),
  };
  const response = await hub.fetch(url, { headers, signal }).catch((error: unknown) => {
    throw new BrokenConnection(problemOf(error, hub.url));
  });
  if (response.status >= 500) throw new BrokenConnection(statusProblem(response.status));
  if (!response.ok) {
    const problem = statusProblem(response.status, response.headers.get('retry-after'));
    throw new Error(`${file.path}: ${problem}`);
  }
  const isRest = response.status === 206;
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  if (isPage || response.body === null) {
    throw new Error(
      l10n.t('{path}: the server sent a web page in place of the file: is there a proxy?', {
        path: file.path,
      }),
    );
  }
  const handle = await open(part, isRest ? 'a' : 'w');
  try {
    let bytes = isRest ? have : 0;
    for await (const chunk of response.body) {
      bytes += chunk.byteLength;
      if (bytes > file.sizeBytes) {
        throw new Error(
          l10n.t('{path}: more than its {bytes} bytes came', {
            path: file.path,
            bytes: number(file.sizeBytes),
          }),
        );
      }
      await handle.writeFile(chunk);
      onBytes(bytes);
    }
    await handle.sync();
    if (bytes < file.sizeBytes) {
      throw new BrokenConnection(
        l10n.t('the connection broke off after {bytes} of {total} bytes', {
          bytes: number(bytes),
          total: number(file.sizeBytes),
        }),
      );
    }
  } catch (error) {
    throw asFailure(error, file);
  } finally {
    await handle.close();
  }
}

/** Errors of the disk are final, with their words; those of the stream are broken connections. */
function asFailure(error: unknown, file: RemoteFile): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'ENOSPC') {
    return new Error(
      l10n.t('{path}: the disk is full; free some space and download again', { path: file.path }),
    );
  }
  const isOfStream = error instanceof TypeError || /^(ECONN|UND_ERR|EPIPE|ETIMEDOUT)/.test(code);
  return isOfStream
    ? new BrokenConnection(l10n.t('the connection broke off ({cause})', { cause: causeOf(error) }))
    : error;
}

async function assertChecksum(
  part: string,
  { path, sizeBytes, checksum }: RemoteFile,
): Promise<void> {
  if (checksum === null) return;
  const isGit = checksum.startsWith('git:');
  const hash = createHash(isGit ? 'sha1' : 'sha256');
  if (isGit) hash.update(`blob ${sizeBytes}\0`);
  for await (const chunk of createReadStream(part)) hash.update(chunk as Buffer);
  const found = hash.digest('hex');
  const expected = checksum.replace(/^\w+:/, '');
  if (found === expected) return;
  await rm(part);
  throw new Error(
    l10n.t('{path}: its checksum is {found}, expected {expected}; download it again', {
      path,
      found,
      expected,
    }),
  );
}

async function assertRoom(
  folder: string,
  bytes: number,
  freeBytes: DownloadOptions['freeBytes'] = freeOnDisk,
): Promise<void> {
  const free = await freeBytes(folder);
  if (bytes + SPARE_BYTES <= free) return;
  throw new Error(
    l10n.t('the download needs {bytes}, and {free} are free: make room in {folder}', {
      bytes: showBytes(bytes),
      free: showBytes(free),
      folder,
    }),
  );
}

async function freeOnDisk(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
