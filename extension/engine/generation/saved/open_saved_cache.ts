import { createHash, type Hash } from 'node:crypto';
import type { BackendName, Executable, Precision } from '../../backend/backend';
import { cacheFolder } from '../../backend/packed_cache';
import { describeWeights, weightsOf } from '../../backend/weight_identity';
import type { PagedCache } from '../../cache/paged';
import { SegmentFolder } from '../../cache/saved/segment_folder';
import type { Program } from '../../core/program';
import type { WeightStore } from '../../loading/weights';
import { SavedCache } from './saved_cache';

/** Changes when backends compute other keys, values or states, or lay them out otherwise, for what is described equally. */
const VERSION = 1;

/** What keys and values depend on beside the text. */
export interface Computation {
  readonly program: Program;
  readonly weights: WeightStore;
  readonly backend: BackendName;
  /** Names the instruction set or device. */
  readonly backendDescription: string;
  readonly precision: Precision;
  readonly executable: Executable;
  /** Switches that change results. */
  readonly switches: unknown;
}

/** Null where nothing can be kept: without room, and on a backend that does not give out what it has computed. */
export function openSavedCache(
  computation: Computation,
  cache: PagedCache,
  megabytes: number,
): SavedCache | null {
  const { blockStore, stateStore } = computation.executable;
  if (megabytes === 0 || blockStore === undefined) return null;
  if (cache.isRecurrent && stateStore === undefined) return null;
  const folder = new SegmentFolder({ folder: cacheFolder(), maxBytes: megabytes * 2 ** 20 });
  const { executable } = computation;
  const facts = factsOf(computation);
  return new SavedCache({
    store: blockStore,
    ...(stateStore && { stateStore }),
    cache,
    folder,
    // When it is first needed: how far activations are rounded may be found out after the load.
    get fingerprint() {
      const bits = executable.activationBits ?? null;
      return facts.copy().update(JSON.stringify(bits)).digest('hex');
    },
  });
}

function factsOf(computation: Computation): Hash {
  const { program, weights, backend, backendDescription, precision } = computation;
  const described = describeWeights(program, weightsOf(program, weights));
  const facts = [VERSION, backend, backendDescription, precision, computation.switches];
  return createHash('sha256').update(JSON.stringify([...facts, program, described]));
}
