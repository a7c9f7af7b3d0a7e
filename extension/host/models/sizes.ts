import { stat } from 'node:fs/promises';
import * as l10n from '@vscode/l10n';
import { number } from '../../protocol/numbers';

/** Bytes of a file; null when it is not there. */
export async function sizeOf(path: string): Promise<number | null> {
  return await stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

/** `940 MB`, `4.7 GB`: decimal, as disks and hubs count. */
export function showBytes(bytes: number): string {
  if (bytes < 1e6) return l10n.t('{size} kB', { size: number(Math.ceil(bytes / 1e3)) });
  return bytes < 1e9
    ? l10n.t('{size} MB', { size: number(bytes / 1e6) })
    : l10n.t('{size} GB', { size: number(bytes / 1e9, 1) });
}

/** `940 MB of 4.7 GB` */
export function showProgress(doneBytes: number, totalBytes: number): string {
  return l10n.t('{done} of {total}', { done: showBytes(doneBytes), total: showBytes(totalBytes) });
}

/** `2.1 MB/s` */
export function showSpeed(bytesPerSecond: number): string {
  return l10n.t({
    message: '{size}/s',
    args: { size: showBytes(Math.max(0, bytesPerSecond)) },
    comment: 'megabytes a second',
  });
}
