import { badModel, quote } from '../bad_model';
import type { ModelFile } from '../model_file';
import { HeaderCursor } from './cursor';
import { ALIGNMENT_KEY, countOfKeys, type GgufMetadata, readMetadata } from './metadata';
import { countOfTensors, type GgufTensor, readTensors } from './tensor_infos';

export interface GgufHeader {
  readonly metadata: GgufMetadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

const MAGIC = 'GGUF';
const LFS_POINTER = 'version https://git-lfs';
const DEFAULT_ALIGNMENT = 32;
const MAX_ALIGNMENT = 1 << 16;
const MIN_ALIGNMENT = 8;
const VERSIONS: readonly number[] = [2, 3];
/** Version 3, read with the wrong byte order. */
const BIG_ENDIAN_VERSION = 0x03000000;

/**
 * Reads and checks the header of a GGUF file. Stricter than ggml's reader: names are UTF-8, no dimension is zero, booleans
 * are 0 or 1, and the file is exactly as long as its tensors need. Throws EngineError bad_model.
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export function readGgufHeader(file: ModelFile): GgufHeader {
  checkMagic(file);
  const cursor = new HeaderCursor(file);
  cursor.u32('magic');
  const version = cursor.u32('version');
  if (version === BIG_ENDIAN_VERSION) {
    throw cursor.error('unsupported version: a big-endian file, expected little-endian');
  }
  if (!VERSIONS.includes(version)) {
    throw cursor.error(`unsupported version: got ${version}, expected ${VERSIONS.join(' or ')}`);
  }
  const tensorCount = countOfTensors(cursor);
  const metadata = readMetadata(cursor, countOfKeys(cursor));
  const alignment = readAlignment(cursor, metadata);
  const tensors = readTensors(cursor, tensorCount, { file: file.path, size: file.size, alignment });
  return { metadata, tensors };
}

function checkMagic(file: ModelFile): void {
  const start = Buffer.from(file.read(0, Math.min(file.size, LFS_POINTER.length))).toString(
    'latin1',
  );
  if (start === LFS_POINTER) {
    throw badModel(
      file.path,
      'is a Git LFS pointer, not weights: fetch the file with "git lfs pull"',
    );
  }
  const magic = start.slice(0, MAGIC.length);
  if (magic === MAGIC) return;
  throw badModel(file.path, `bad magic: got ${quote(magic)}, expected ${quote(MAGIC)}`);
}

function readAlignment(cursor: HeaderCursor, metadata: GgufMetadata): number {
  const alignment = metadata.get(ALIGNMENT_KEY) ?? DEFAULT_ALIGNMENT;
  const isPower = typeof alignment === 'number' && Number.isInteger(Math.log2(alignment));
  if (isPower && alignment >= MIN_ALIGNMENT && alignment <= MAX_ALIGNMENT) return alignment;
  const expected = `expected a power of two from ${MIN_ALIGNMENT} to ${MAX_ALIGNMENT}`;
  throw cursor.error(`metadata ${quote(ALIGNMENT_KEY)}: got ${String(alignment)}, ${expected}`);
}
