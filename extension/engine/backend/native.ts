import { existsSync } from 'node:fs';
import type { Program } from '../core/program';
import { EngineError } from '../errors';
import type { Weight, WeightStore } from '../loading/weights';
import { type Addon, checked, type Handle, nativeAddon, translated } from './addon';
import type {
  ActivationBits,
  Backend,
  BlockStore,
  Draw,
  Drawn,
  Executable,
  OpenCalibration,
  StateStore,
  StepBatch,
} from './backend';
import { calibrated, EXACT, formatBits, parseBits } from './calibrate';
import { sourcesOf, withoutParts } from './carried_weights';
import { beginOnGpu, failureOf, metalDevice } from './metal_device';
import { drawFields, drawMasks } from './native_draws';
import { PackedCache } from './packed_cache';
import { weightsOf } from './weight_identity';

/**
 * The addon on the CPU. `isa` names an instruction set instead of the best one of this machine; the environment variable
 * ANLLM_ISA does the same. Throws EngineError unavailable when the addon cannot be loaded or the machine lacks the set.
 */
export function loadNativeBackend({ isa = process.env.ANLLM_ISA ?? '' } = {}): Backend {
  const addon = nativeAddon();
  const { isas, threads, kvBlockSize } = addon.describe();
  if (isa !== '' && !isas.includes(isa)) {
    throw new EngineError(
      'unavailable',
      `instruction set ${isa}: this machine has ${isas.join(', ')}`,
    );
  }
  return {
    name: 'cpu',
    description: `CPU, ${isa || isas[0]}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`,
    kvBlockSize,
    async compile(program, store, { packed, ...options }) {
      const weights = weightsOf(program, store);
      const isKept = packed !== undefined && options.forceDequantized !== true;
      const cache = isKept ? new PackedCache(packed) : null;
      const entry = cache?.entryFor('cpu', program, weights, options.precision);
      const isPacked = () => entry !== undefined && entry.file !== '' && existsSync(entry.file);
      const packsFirst = entry !== undefined && entry.file !== '' && !isPacked();
      const handle = await compiled(addon, program, weights, store, {
        ...options,
        isa,
        device: 'cpu',
        packedFile: entry?.file ?? '',
      });
      const executable = new DrawingExecutable(addon, handle);
      const roundsActivations = options.precision === 'fast' && hasCodes(weights);
      if (!roundsActivations || options.forceDequantized === true) return executable;
      const known = entry && parseBits(cache?.recall(entry) ?? '');
      const bits = options.activationBits ?? known ?? null;
      const calibrate = async () => {
        const chosen = await calibrated(executable, program, options, kvBlockSize);
        if (entry !== undefined) cache?.remember(entry, formatBits(chosen));
      };
      if (bits !== null) executable.setActivations(bits);
      else if (options.calibration === 'later' && packsFirst) {
        executable.setActivations(EXACT);
        executable.openCalibration = { run: calibrate, isPacked };
      } else {
        await calibrate().catch((error: unknown) => {
          executable.dispose();
          throw error;
        });
      }
      return executable;
    },
  };
}

/**
 * The addon on the GPU. Throws EngineError unavailable when there is none, or it fails its self-test; where only the
 * drawing of tokens fails, it does not draw.
 */
export function loadMetalBackend(): Backend {
  const addon = nativeAddon();
  const device = metalDevice();
  if (device === null) {
    throw new EngineError('unavailable', 'this machine has no Metal device; use --backend cpu');
  }
  const draws = failureOf(device, 'drawing') === null;
  const failure = failureOf(device, 'all');
  if (failure !== null) throw new EngineError('unavailable', `${failure}; use --backend cpu`);
  return {
    name: 'metal',
    description: `Metal, ${device.name}${draws ? '' : ', tokens drawn on the CPU'}`,
    kvBlockSize: device.kvBlockSize,
    async compile(program, store, { packed, ...options }) {
      const wrong = options.kvBits === 8 ? failureOf(device, 'kv8') : null;
      if (wrong !== null) {
        throw new EngineError(
          'unavailable',
          `${wrong}; set kv-bits 16 (anllm.engine.kvBits), or use --backend cpu`,
        );
      }
      const weights = weightsOf(program, store);
      const cache = packed === undefined ? null : new PackedCache(packed);
      const isKept = options.forceDequantized !== true;
      const entry = isKept
        ? cache?.entryFor('metal', program, weights, options.precision)
        : undefined;
      const end = beginOnGpu('load');
      let isThrough = false;
      try {
        const handle = await compiled(addon, program, weights, store, {
          ...options,
          isa: '',
          device: 'metal',
          packedFile: entry?.file ?? '',
          pipelineFolder: cache?.pipelineFolder() ?? '',
        });
        isThrough = true;
        return draws ? new DrawingExecutable(addon, handle) : new NativeExecutable(addon, handle);
      } finally {
        end(isThrough);
      }
    },
  };
}

/** Instruction sets that this machine runs, the best first. */
export function nativeInstructionSets(): readonly string[] {
  return nativeAddon().describe().isas;
}

/** Bytes a second that this machine reads from memory in order. Blocks for a fraction of a second. */
export function memoryBandwidth(threads: number): number {
  return nativeAddon().memoryBandwidth(threads);
}

class NativeExecutable implements Executable {
  readonly threads: number;
  readonly bytesPerToken: number;
  readonly blockStore: BlockStore;
  readonly stateStore?: StateStore;
  activationBits: ActivationBits | null = null;
  openCalibration?: OpenCalibration;

  constructor(
    private readonly addon: Addon,
    private readonly handle: Handle,
  ) {
    this.threads = handle.threads;
    this.bytesPerToken = handle.bytesPerToken;
    this.blockStore = {
      blockBytes: handle.blockBytes,
      read: (blocks) => checked(() => addon.readBlocks(handle, blocks)),
      write: (blocks, bytes) => checked(() => addon.writeBlocks(handle, blocks, bytes)),
    };
    if (handle.stateBytes === 0) return;
    this.stateStore = {
      stateBytes: handle.stateBytes,
      read: (slot) => checked(() => addon.readState(handle, slot)),
      write: (slot, length, bytes) => checked(() => addon.writeState(handle, slot, length, bytes)),
    };
  }

  async step(batch: StepBatch): Promise<Float32Array> {
    return (await this.run(batch)).logits;
  }

  hidden(): Float32Array {
    return checked(() => this.addon.hidden(this.handle));
  }

  setActivations(bits: ActivationBits): void {
    const planes = (wanted: number) => wanted / 8;
    this.addon.setPlanes(this.handle, planes(bits.attention), planes(bits.others));
    this.activationBits = bits;
  }

  copyBlocks(pairs: Int32Array): void {
    checked(() => this.addon.copyBlocks(this.handle, pairs));
  }

  copyState(from: number, to: number): void {
    checked(() => this.addon.copyState(this.handle, from, to));
  }

  cancel(): void {
    this.addon.cancel(this.handle);
  }

  dispose(): void {
    this.addon.dispose(this.handle);
  }

  protected run(
    batch: StepBatch,
    ...drawn: [] | [columns: number, draws: Float64Array, masks: Uint32Array]
  ): Promise<Drawn> {
    const { tokens, positions, offsets, blockTables, blocksPerSequence, logitRows, stateSlots } =
      batch;
    return translated(() =>
      this.addon.step(
        this.handle,
        tokens,
        positions,
        offsets,
        blockTables,
        blocksPerSequence,
        logitRows,
        stateSlots,
        ...drawn,
      ),
    );
  }
}

class DrawingExecutable extends NativeExecutable {
  stepDrawn(batch: StepBatch, draws: readonly (Draw | null)[], columns: number): Promise<Drawn> {
    return this.run(batch, columns, drawFields(draws), drawMasks(draws, columns));
  }
}

/** Whether there are weights for which activations are rounded. */
const hasCodes = (weights: readonly Weight[]) => weights.some(({ kind }) => kind !== 'dense');

async function compiled(
  addon: Addon,
  program: Program,
  weights: readonly Weight[],
  store: WeightStore,
  options: Parameters<Addon['compile']>[2],
): Promise<Handle> {
  const plain = withoutParts(program);
  const compile = (isPacked: boolean) =>
    addon.compile(plain, sourcesOf(program, weights, store, isPacked), options);
  return translated(async () => {
    const isPacked = options.packedFile !== '' && existsSync(options.packedFile);
    try {
      return await compile(isPacked);
    } catch (error) {
      const isDamaged = error instanceof Error && 'code' in error && error.code === 'not_packed';
      if (!isPacked || !isDamaged) throw error;
      return await compile(false);
    }
  });
}
