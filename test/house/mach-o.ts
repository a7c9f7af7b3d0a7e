/**
 * Reads what a test wants to know of a 64-bit Mach-O dynamic library: processor, minimum macOS, symbols, libraries and
 * code signature. Layouts from Apple's <mach-o/loader.h>, <mach-o/nlist.h> and <kern/cs_blobs.h>.
 */
import { createHash } from 'node:crypto';

const loadCommand = { symtab: 0x2, loadDylib: 0xc, codeSignature: 0x1d, buildVersion: 0x32 };
const magic64 = 0xfeedfacf;
const embeddedSignature = 0xfade0cc0;
const codeDirectory = 0xfade0c02;
const dynamicLookup = 0xfe;

export interface CodeSignature {
  readonly isAdHoc: boolean;
  /** Every page of the file has the hash that the signature states, or the kernel would refuse to map it. */
  readonly pagesMatch: boolean;
}

export interface MachO {
  readonly cpu: 'arm64' | 'x86_64' | 'other';
  /** As `14.0`; undefined without LC_BUILD_VERSION. */
  readonly minimumMacOS: string | undefined;
  /** Names as in C, without the leading underscore of the platform. */
  readonly defined: readonly string[];
  /** Imported symbols that no linked library promises: dyld looks for them in the whole process. */
  readonly lookedUp: readonly string[];
  readonly libraries: readonly string[];
  readonly signature: CodeSignature | undefined;
}

/** @throws Error when `file` does not start as a 64-bit little-endian Mach-O file. */
export function readMachO(file: Buffer): MachO {
  if (file.readUInt32LE(0) !== magic64) throw new Error('not a 64-bit Mach-O file');
  const commands = [...loadCommands(file)];
  const find = (kind: number) => commands.find((command) => command.kind === kind)?.bytes;
  const symbols = readSymbols(file, find(loadCommand.symtab));
  return {
    cpu: cpuName(file.readUInt32LE(4)),
    minimumMacOS: readMinimum(find(loadCommand.buildVersion)),
    defined: symbols.filter((symbol) => symbol.isDefined).map((symbol) => symbol.name),
    lookedUp: symbols.filter((symbol) => symbol.isLookedUp).map((symbol) => symbol.name),
    libraries: commands
      .filter((command) => command.kind === loadCommand.loadDylib)
      .map(({ bytes }) => cString(bytes, bytes.readUInt32LE(8))),
    signature: readSignature(file, find(loadCommand.codeSignature)),
  };
}

function* loadCommands(file: Buffer): Generator<{ kind: number; bytes: Buffer }> {
  const count = file.readUInt32LE(16);
  let offset = 32;
  for (let index = 0; index < count; index++) {
    const size = file.readUInt32LE(offset + 4);
    yield { kind: file.readUInt32LE(offset), bytes: file.subarray(offset, offset + size) };
    offset += size;
  }
}

function cpuName(type: number): MachO['cpu'] {
  if (type === 0x0100000c) return 'arm64';
  return type === 0x01000007 ? 'x86_64' : 'other';
}

/** Versions are coded as xxxx.yy.zz in one word. */
function readMinimum(buildVersion: Buffer | undefined): string | undefined {
  if (buildVersion === undefined) return undefined;
  const word = buildVersion.readUInt32LE(12);
  return `${word >>> 16}.${(word >>> 8) & 0xff}`;
}

/** External symbols; debugging entries (the upper three bits of n_type) and locals are left out. */
function readSymbols(file: Buffer, symtab: Buffer | undefined) {
  if (symtab === undefined) return [];
  const table = symtab.readUInt32LE(8);
  const count = symtab.readUInt32LE(12);
  const strings = symtab.readUInt32LE(16);
  return Array.from({ length: count }, (_, index) => table + 16 * index)
    .map((at) => ({
      name: cString(file, strings + file.readUInt32LE(at)).replace(/^_/, ''),
      type: file.readUInt8(at + 4),
      // The upper byte of n_desc: which library is to have it.
      library: file.readUInt8(at + 7),
    }))
    .filter(({ type }) => (type & 0xe0) === 0 && (type & 0x01) !== 0)
    .map(({ name, type, library }) => {
      const isDefined = (type & 0x0e) !== 0;
      return { name, isDefined, isLookedUp: !isDefined && library === dynamicLookup };
    });
}

/** Signature blobs are big-endian. */
function readSignature(file: Buffer, command: Buffer | undefined): CodeSignature | undefined {
  if (command === undefined) return undefined;
  const start = command.readUInt32LE(8);
  const blob = file.subarray(start, start + command.readUInt32LE(12));
  if (blob.readUInt32BE(0) !== embeddedSignature) return undefined;
  const directory = Array.from({ length: blob.readUInt32BE(8) }, (_, index) =>
    blob.subarray(blob.readUInt32BE(16 + 8 * index)),
  ).find((part) => part.readUInt32BE(0) === codeDirectory);
  if (directory === undefined) return undefined;
  return {
    isAdHoc: (directory.readUInt32BE(12) & 0x2) !== 0,
    pagesMatch: pagesMatch(file, directory),
  };
}

function pagesMatch(file: Buffer, directory: Buffer): boolean {
  const hashes = directory.readUInt32BE(16);
  const slots = directory.readUInt32BE(28);
  const end = directory.readUInt32BE(32);
  const hashSize = directory[36] ?? 0;
  const pageSize = 2 ** (directory[39] ?? 0);
  return Array.from({ length: slots }, (_, slot) => slot).every((slot) => {
    const page = file.subarray(slot * pageSize, Math.min((slot + 1) * pageSize, end));
    const stated = directory.subarray(hashes + slot * hashSize, hashes + (slot + 1) * hashSize);
    return createHash('sha256').update(page).digest().equals(stated);
  });
}

function cString(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start));
}
