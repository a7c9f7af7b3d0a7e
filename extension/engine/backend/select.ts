import type { Program } from '../core/program';
import { EngineError } from '../errors';
import type { WeightStore } from '../loading/weights';
import type { Backend, BackendName, CompileOptions, Executable } from './backend';
import { loadMetalBackend, loadNativeBackend } from './native';
import { createReferenceBackend } from './reference';

export interface Selection {
  readonly backend: Backend;
  /** Why a slower backend than the usual one serves; null when all is well. */
  readonly fallbackReason: string | null;
}

export interface Compilation extends Selection {
  readonly executable: Executable;
}

/**
 * Compiles on the named backend. With 'auto', what a backend cannot load or does not have falls to the next one, down to
 * the reference.
 */
export async function compileSelected(
  name: BackendName | 'auto',
  program: Program,
  weights: WeightStore,
  optionsFor: (backend: Backend) => CompileOptions,
  platform = process.platform,
): Promise<Compilation> {
  const candidates = candidatesFor(name, platform);
  const reasons: string[] = [];
  for (const candidate of candidates) {
    try {
      const { backend } = selectBackend(candidate);
      const executable = await backend.compile(program, weights, optionsFor(backend));
      return {
        backend,
        executable,
        fallbackReason: reasons.length > 0 ? reasons.join('; ') : null,
      };
    } catch (error) {
      const hasNext = candidate !== candidates.at(-1);
      if (!hasNext || !(error instanceof EngineError) || !canFallBack(error)) throw error;
      reasons.push(error.message);
    }
  }
  throw new EngineError('internal', `backend ${name}: nothing to choose from`);
}

/** A named backend is used or refused. */
export function selectBackend(name: BackendName): Selection {
  switch (name) {
    case 'reference':
      return { backend: createReferenceBackend(), fallbackReason: null };
    case 'cpu':
      return { backend: loadNativeBackend(), fallbackReason: null };
    case 'metal':
      return { backend: loadMetalBackend(), fallbackReason: null };
  }
}

/** The fastest first; the last one always runs. */
function candidatesFor(
  name: BackendName | 'auto',
  platform: NodeJS.Platform,
): readonly BackendName[] {
  if (name !== 'auto') return [name];
  return platform === 'darwin' ? ['metal', 'cpu', 'reference'] : ['cpu', 'reference'];
}

const canFallBack = ({ code }: EngineError) => code === 'unavailable' || code === 'unsupported';
