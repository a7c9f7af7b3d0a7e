import { isCancelled } from '../errors';
import type { GenerateResult } from './types';

/** Null for a request that was aborted before its turn came; other failures stay. */
export async function unlessCancelled(
  running: Promise<GenerateResult>,
): Promise<GenerateResult | null> {
  try {
    return await running;
  } catch (error) {
    if (isCancelled(error)) return null;
    throw error;
  }
}
