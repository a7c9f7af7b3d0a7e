import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import path from 'node:path';
import { checked, type MetalDevice, nativeAddon, packageRoot, type SelfTest } from './addon';
import { EngineError } from '../errors';
import { GpuStarts } from './gpu_starts';
import { cacheFolder, PackedCache } from './packed_cache';

/** What the parts of a scope found wrong, or null. */
export function failureOf(
  { name, selfTest }: MetalDevice,
  scope: SelfTest['scope'],
): string | null {
  const wrong = selfTest.find((part) => !part.isGood && part.scope === scope);
  if (wrong === undefined) return null;
  const what = wrong.failure === '' ? `is off by ${wrong.error.toPrecision(2)}` : wrong.failure;
  return `the GPU ${name} fails its self-test: ${wrong.name}: ${what}`;
}

let metal: MetalDevice | null | undefined;

/**
 * The GPU and its self-test, which runs once; null when there is none. Throws EngineError unavailable for one that the
 * engine does not take, or that ended it before, unless it is tried `again`.
 */
export function metalDevice({ again = false } = {}): MetalDevice | null {
  if (metal !== undefined) return metal;
  const addon = nativeAddon();
  isGpuTriedAgain = again;
  const end = beginOnGpu('self-test');
  let isThrough = false;
  try {
    const cache = new PackedCache({ folder: cacheFolder() });
    metal = checked(() => addon.describeMetal(cache.pipelineFolder()));
    isThrough = true;
  } finally {
    end(isThrough);
  }
  return metal;
}

/** Whether there is a GPU that the engine takes, good or not. */
export function hasMetalDevice(): boolean {
  try {
    return metalDevice() !== null;
  } catch (error) {
    if (error instanceof EngineError && error.code === 'unavailable') return false;
    throw error;
  }
}

let isGpuTriedAgain = false;

/** What ended with another driver, or another version of this, may not end now. */
export function beginOnGpu(what: 'self-test' | 'load') {
  const manifest = readFileSync(path.join(packageRoot(), 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const starts = new GpuStarts(cacheFolder(), what, `${release()} ${version}`);
  return starts.begin({ again: isGpuTriedAgain });
}
