import { dirname, resolve } from 'node:path';
import { allowedRoot, ModelFile } from '../model_file';
import { readGgufHeader } from './header';
import type { GgufMetadata } from './metadata';
import type { GgufTensor } from './tensor_infos';

/** An open GGUF file: a checked header, and tensors by pread. */
export class GgufFile {
  private constructor(
    private readonly file: ModelFile,
    readonly metadata: GgufMetadata,
    readonly tensors: ReadonlyMap<string, GgufTensor>,
  ) {}

  /** Throws EngineError bad_model. The file's real path must lie in its own folder, or in its Hub repository. */
  static open(path: string): GgufFile {
    const file = ModelFile.open(path, allowedRoot(dirname(resolve(path))));
    try {
      const { metadata, tensors } = readGgufHeader(file);
      return new GgufFile(file, metadata, tensors);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get path(): string {
    return this.file.path;
  }

  get size(): number {
    return this.file.size;
  }

  /** Bytes [offset, offset + length) of the file, in a fresh buffer. */
  read(offset: number, length: number): Uint8Array<ArrayBuffer> {
    return this.file.read(offset, length);
  }

  /** See ModelFile. */
  identity(): string {
    return this.file.identity();
  }

  close(): void {
    this.file.close();
  }
}
