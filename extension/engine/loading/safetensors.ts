import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { badModel, quote } from './bad_model';
import { allowedRoot, ModelFile } from './model_file';
import { LENGTH_BYTES, MAX_HEADER_BYTES, parseSafetensorsHeader } from './safetensors_header';
import type { StoredTensor } from './weights';

const LFS_POINTER = 'version https://git-lfs';

/** An open safetensors file: a checked header, and tensors by pread. */
export class SafetensorsFile {
  private constructor(
    private readonly file: ModelFile,
    readonly tensors: ReadonlyMap<string, StoredTensor>,
  ) {}

  /** `root`: the folder that the file's real path must lie in. */
  static open(path: string, root: string): SafetensorsFile {
    const file = ModelFile.open(path, root);
    try {
      return new SafetensorsFile(file, readHeader(file));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get path(): string {
    return this.file.path;
  }

  /** The bytes of a tensor of this file, in a fresh buffer. */
  bytes(tensor: StoredTensor): Uint8Array<ArrayBuffer> {
    return this.file.read(tensor.offset, tensor.byteLength);
  }

  /** The elements of an F32 or I32 tensor, row-major. */
  read(name: string): {
    readonly shape: readonly number[];
    readonly data: Float32Array | Int32Array;
  } {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) throw badModel(this.path, `tensor ${quote(name)}: missing`);
    const { shape, dtype } = tensor;
    switch (dtype) {
      case 'F32':
        return { shape, data: new Float32Array(this.bytes(tensor).buffer) };
      case 'I32':
        return { shape, data: new Int32Array(this.bytes(tensor).buffer) };
      default:
        throw badModel(this.path, `tensor ${quote(name)}: got ${dtype}, expected F32 or I32`);
    }
  }

  close(): void {
    this.file.close();
  }
}

/** Opens one safetensors file on its own, such as a golden. Throws EngineError bad_model. */
export function openSafetensors(path: string): SafetensorsFile {
  const absolute = resolve(path);
  if (!existsSync(absolute)) throw badModel(path, 'missing');
  return SafetensorsFile.open(path, allowedRoot(dirname(absolute)));
}

function readHeader(file: ModelFile): ReadonlyMap<string, StoredTensor> {
  const { path, size } = file;
  if (size < LENGTH_BYTES) {
    throw badModel(path, `header too small: got ${size} bytes, expected at least ${LENGTH_BYTES}`);
  }
  const start = Buffer.from(file.read(0, Math.min(size, LFS_POINTER.length)));
  if (start.toString('latin1') === LFS_POINTER) {
    throw badModel(path, 'is a Git LFS pointer, not weights: fetch the file with "git lfs pull"');
  }
  const length = start.readBigUInt64LE();
  if (length > BigInt(MAX_HEADER_BYTES)) {
    throw badModel(
      path,
      `header too large: got ${length} bytes, expected at most ${MAX_HEADER_BYTES}`,
    );
  }
  const available = size - LENGTH_BYTES;
  if (length > BigInt(available)) {
    throw badModel(path, `header says ${length} bytes, file holds ${available}`);
  }
  return parseSafetensorsHeader(path, file.read(LENGTH_BYTES, Number(length)), size);
}
