import { ARCHITECTURES } from './architectures';
import { architectureName } from './config';
import { openGgufParts } from './split';

/** What a list of models says of a GGUF file. */
export interface GgufSummary {
  readonly modelType: string | null;
  /** The type that most bytes of the weights have, e.g. `Q4_K`. */
  readonly quantization: string;
  readonly sizeBytes: number;
  readonly architecture: string;
}

/** Reads the headers of a model's parts. Throws EngineError bad_model. */
export function ggufSummary(path: string): GgufSummary {
  const parts = openGgufParts(path);
  try {
    const architecture = architectureName(path, parts[0]?.metadata ?? new Map());
    const bytes = new Map<string, number>();
    for (const { type, byteLength } of parts.flatMap((part) => [...part.tensors.values()])) {
      bytes.set(type.name, (bytes.get(type.name) ?? 0) + byteLength);
    }
    const [most] = [...bytes].sort(([, a], [, b]) => b - a);
    return {
      architecture,
      modelType: ARCHITECTURES[architecture]?.modelType ?? null,
      quantization: most?.[0] ?? 'none',
      sizeBytes: parts.reduce((sum, { size }) => sum + size, 0),
    };
  } finally {
    for (const part of parts) part.close();
  }
}
