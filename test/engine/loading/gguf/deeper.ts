/** A checkpoint with twice its layers, for what only the layers of larger models show. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createReferenceBackend } from '../../../../extension/engine/backend/reference';
import { readGolden } from '../../../../extension/engine/cli/verify';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import type { JsonObject } from '../../../../extension/engine/loading/json_file';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { openSafetensors } from '../../../../extension/engine/loading/safetensors';
import { type Entry, f32, safetensors, writeFiles } from '../model_fixture';

/**
 * Writes to `folder` the checkpoint with its layers a second time after the first, `changes` to its config.json, and the logits
 * of the reference for its first prompt as goldens; returns it.
 */
export async function deeper(
  folder: string,
  checkpoint: string,
  changes: JsonObject,
): Promise<string> {
  const config = JSON.parse(readFileSync(join(checkpoint, 'config.json'), 'utf8')) as JsonObject;
  const layers = Number(config.num_hidden_layers);
  const file = openSafetensors(join(checkpoint, 'model.safetensors'));
  const tensors: Record<string, Entry> = {};
  for (const [name, tensor] of file.tensors) {
    const entry = { dtype: tensor.dtype, shape: tensor.shape, data: file.bytes(tensor) };
    tensors[name] = entry;
    const [, layer] = /\.layers\.(\d+)\./.exec(name) ?? [];
    if (layer !== undefined) {
      tensors[name.replace(/\.layers\.\d+\./, `.layers.${Number(layer) + layers}.`)] = entry;
    }
  }
  file.close();
  writeFiles(folder, {
    'config.json': { ...config, num_hidden_layers: 2 * layers, ...changes },
    'model.safetensors': safetensors(tensors),
  });
  writeFiles(folder, { 'golden.safetensors': await goldens(folder, checkpoint) });
  return folder;
}

async function goldens(folder: string, checkpoint: string): Promise<Buffer> {
  const model = openModel(folder);
  const program = buildProgram(model.config(), model.weights);
  const ids = readGolden(checkpoint, program.vocabSize)[0]?.ids ?? [];
  const limits = { maxTokens: ids.length, maxLogitRows: ids.length, threads: 0 };
  const backend = createReferenceBackend();
  const kvBlocks = Math.ceil(ids.length / backend.kvBlockSize);
  const options = { precision: 'exact', kvBlocks, ...limits } as const;
  const executable = await backend.compile(program, model.weights, options);
  const logits = await executable.step({
    tokens: Int32Array.from(ids),
    positions: Int32Array.from(ids.keys()),
    offsets: Int32Array.of(0, ids.length),
    blockTables: Int32Array.from({ length: kvBlocks }, (_, i) => i),
    blocksPerSequence: kvBlocks,
    logitRows: Int32Array.from(ids.keys()),
  });
  executable.dispose();
  model.close();
  const integers = (values: readonly number[]): Entry => ({
    dtype: 'I32',
    shape: [values.length],
    data: new Uint8Array(Int32Array.from(values).buffer),
  });
  return safetensors({
    'a.ids': integers(ids),
    'a.logits': f32([ids.length, program.vocabSize], [...logits]),
    'a.greedy': integers([]),
  });
}
