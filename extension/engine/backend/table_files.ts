import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { KeptTables } from '../loading/kept_tables';
import { makeFolder } from './make_folder';
import { packedFolder, TABLES, touch } from './packed_cache';

const CHECKSUM_BYTES = 32;

/** Tables beside the packed weights, each in a file that ends in the SHA-256 of what is before; damaged ones are removed. */
export class TableFiles implements KeptTables {
  private readonly folder: string;

  /** `folder`: as for packed weights. */
  constructor(folder: string) {
    this.folder = packedFolder(folder);
  }

  recall(name: string): Uint8Array<ArrayBuffer> | null {
    const path = this.pathOf(name);
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = readWhole(path);
    } catch {
      return null;
    }
    const end = bytes.length - CHECKSUM_BYTES;
    const content = bytes.subarray(0, Math.max(0, end));
    if (end < 0 || !checksumOf([content]).equals(bytes.subarray(end))) {
      rmSync(path, { force: true });
      return null;
    }
    touch(path);
    return content;
  }

  keep(name: string, pieces: readonly Uint8Array[]): void {
    const path = this.pathOf(name);
    const draft = `${path}.${process.pid}.tmp`;
    try {
      makeFolder(this.folder);
      writeWhole(draft, [...pieces, checksumOf(pieces)]);
      // What a crash leaves half on the disk has another checksum.
      renameSync(draft, path);
    } catch {
      rmSync(draft, { force: true }); // a full disk, or a folder that cannot be written
    }
  }

  private pathOf(name: string): string {
    return join(this.folder, `${name}${TABLES}`);
  }
}

function checksumOf(pieces: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

function readWhole(path: string): Uint8Array<ArrayBuffer> {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(fstatSync(descriptor).size);
    for (let at = 0; at < bytes.length;) {
      const count = readSync(descriptor, bytes, at, bytes.length - at, at);
      if (count === 0) throw new Error('cut while it was read');
      at += count;
    }
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

function writeWhole(path: string, pieces: readonly Uint8Array[]): void {
  const descriptor = openSync(path, 'w', 0o600);
  try {
    for (const piece of pieces) {
      for (let at = 0; at < piece.length;) at += writeSync(descriptor, piece, at);
    }
  } finally {
    closeSync(descriptor);
  }
}
