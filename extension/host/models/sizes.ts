import { stat } from 'node:fs/promises';

/** Bytes of a file; null when it is not there. */
export async function sizeOf(path: string): Promise<number | null> {
  return await stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

/** `940 MB`, `4.7 GB`: decimal, as disks and hubs count. */
export function showBytes(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
