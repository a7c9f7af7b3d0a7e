import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPROUT, withHeader } from '../../engine/loading/model_fixture';

/** The first layer of the built-in model with a long context: quick, and all that it says is nonsense. */
export function writeShallowModel(folder: string, contextLength: number): void {
  cpSync(SPROUT, folder, { recursive: true });
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as object;
  const shallow = { ...config, num_hidden_layers: 1, max_position_embeddings: contextLength };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(shallow));

  const file = join(folder, 'model.safetensors');
  const bytes = readFileSync(file);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, start)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const data: Buffer[] = [];
  let offset = 0;
  const kept = Object.entries(header).flatMap(([name, tensor]) => {
    if (name === '__metadata__' || /layers\.[1-9]/.test(name)) return [];
    const [from, to] = tensor.data_offsets;
    data.push(bytes.subarray(start + from, start + to));
    const data_offsets = [offset, (offset += to - from)];
    return [[name, { ...tensor, data_offsets }] as const];
  });
  writeFileSync(file, withHeader(JSON.stringify(Object.fromEntries(kept)), Buffer.concat(data)));
}
