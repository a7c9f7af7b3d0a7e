import { ARCHITECTURES } from './architectures';
import { architectureName } from './config';
import { openGgufParts } from './split';
import { isDecoded, TOWERS } from './store';
import type { GgufTensor } from './tensor_infos';

/** What a list of models says of a GGUF file. */
export interface GgufSummary {
  readonly modelType: string | null;
  /** The type that most bytes of the weights have, e.g. `Q4_K`. */
  readonly quantization: string;
  readonly sizeBytes: number;
  readonly architecture: string;
  /** Name of a tensor's type that this engine does not decode; null when it decodes all. */
  readonly unknownType: string | null;
}

/** Reads the headers of a model's parts. Throws EngineError bad_model. */
export function ggufSummary(path: string): GgufSummary {
  const parts = openGgufParts(path);
  try {
    const architecture = architectureName(path, parts[0]?.metadata ?? new Map());
    const bytes = new Map<string, number>();
    const tensors = parts.flatMap((part) => [...part.tensors.values()]);
    for (const { type, byteLength } of tensors) {
      bytes.set(type.name, (bytes.get(type.name) ?? 0) + byteLength);
    }
    const isTower = ({ name }: GgufTensor) => TOWERS.test(name);
    const unknown = tensors.find((tensor) => !isTower(tensor) && !isDecoded(tensor.type.name));
    const [most] = [...bytes].sort(([, a], [, b]) => b - a);
    return {
      architecture,
      unknownType: unknown?.type.name ?? null,
      modelType: ARCHITECTURES[architecture]?.modelType ?? null,
      quantization: most?.[0] ?? 'none',
      sizeBytes: parts.reduce((sum, { size }) => sum + size, 0),
    };
  } finally {
    for (const part of parts) part.close();
  }
}
