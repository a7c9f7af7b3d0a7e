/** native/addon.cpp as TypeScript sees it. */
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import loadAddon from 'node-gyp-build';
import type { Program } from '../core/program';
import { EngineError, type EngineErrorCode } from '../errors';
import type { CompileOptions, Drawn } from './backend';
import { notLoaded } from './not_loaded';

/** What native/addon.cpp exports. Its errors carry an engine error code. */
export interface Addon {
  describe(): {
    readonly isas: readonly string[];
    readonly threads: number;
    readonly kvBlockSize: number;
  };
  describeMetal(pipelineFolder: string): MetalDevice | null;
  compile(
    program: Program,
    weights: readonly unknown[],
    options: Omit<CompileOptions, 'packed'> & {
      readonly isa: string;
      readonly device: 'cpu' | 'metal';
      readonly packedFile: string;
      /** Where the GPU's compiled pipelines are kept. */
      readonly pipelineFolder?: string;
    },
  ): Promise<Handle>;
  step(
    handle: Handle,
    tokens: Int32Array,
    positions: Int32Array,
    offsets: Int32Array,
    blockTables: Int32Array,
    blocksPerSequence: number,
    logitRows: Int32Array,
    stateSlots: Int32Array | undefined,
    ...drawn: [] | [columns: number, draws: Float64Array, masks: Uint32Array]
  ): Promise<Drawn>;
  hidden(handle: Handle): Float32Array;
  copyState(handle: Handle, from: number, to: number): void;
  readState(handle: Handle, slot: number): Uint8Array;
  writeState(handle: Handle, slot: number, length: number, bytes: Uint8Array): void;
  setPlanes(handle: Handle, attention: number, others: number): void;
  copyBlocks(handle: Handle, pairs: Int32Array): void;
  readBlocks(handle: Handle, blocks: Int32Array): Uint8Array;
  writeBlocks(handle: Handle, blocks: Int32Array, bytes: Uint8Array): void;
  cancel(handle: Handle): void;
  dispose(handle: Handle): void;
  memoryBandwidth(threads: number): number;
}

/** What a small run of a kernel gave. */
export interface SelfTest {
  readonly name: string;
  /** Largest difference from the expected values, relative to the largest of these. */
  readonly error: number;
  /** Why it did not run; empty when it did. */
  readonly failure: string;
  readonly isGood: boolean;
  /** What is wrong where it is not good: everything, or only the drawing of tokens, or only keys and values of 8 bits. */
  readonly scope: 'all' | 'drawing' | 'kv8';
}

export interface MetalDevice {
  readonly name: string;
  readonly kvBlockSize: number;
  readonly selfTest: readonly SelfTest[];
}

export interface Handle {
  readonly threads: number;
  readonly bytesPerToken: number;
  readonly blockBytes: number;
  /** 0 for programs without state layers. */
  readonly stateBytes: number;
}

let loaded: Addon | undefined;

export function nativeAddon(): Addon {
  try {
    loaded ??= loadAddon(packageRoot()) as Addon;
    return loaded;
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n');
    const { platform, arch } = process;
    const host = { platform, arch, cpu: cpus()[0]?.model ?? '' };
    throw new EngineError('unavailable', notLoaded(reason ?? '', host), { cause: error });
  }
}

/** The folder with build/ or prebuilds/: the parent of dist/ in a package, some levels up when run from source. */
export function packageRoot(): string {
  let folder = __dirname;
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${__dirname}`);
    folder = parent;
  }
  return folder;
}

export async function translated<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toEngineError(error);
  }
}

export function checked<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw toEngineError(error);
  }
}

function toEngineError(error: unknown): EngineError {
  if (!(error instanceof Error)) return new EngineError('internal', String(error));
  const { code } = error as { code?: EngineErrorCode };
  return new EngineError(code ?? 'internal', error.message, { cause: error });
}
