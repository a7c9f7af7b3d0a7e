import { inflateRawSync } from 'node:zlib';

const endOfDirectory = 0x06054b50;

/**
 * The files of a .zip archive (a .vsix is one) by name: stored or deflated, no zip64. Layout from PKWARE's APPNOTE §4.3.
 */
export function readZip(archive: Buffer): Map<string, Buffer> {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== endOfDirectory) end--;
  if (end < 0) throw new Error('not a zip archive: no end of central directory');
  const files = new Map<string, Buffer>();
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    if (!name.endsWith('/')) files.set(name, readEntry(archive, at));
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return files;
}

/** @param at offset of the entry's record in the central directory */
function readEntry(archive: Buffer, at: number): Buffer {
  const isDeflated = archive.readUInt16LE(at + 10) === 8;
  const size = archive.readUInt32LE(at + 20);
  const local = archive.readUInt32LE(at + 42);
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const bytes = archive.subarray(start, start + size);
  return isDeflated ? inflateRawSync(bytes) : bytes;
}
