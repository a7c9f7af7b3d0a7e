/** Models of a hub by words, as far as the engine runs them. */
import * as l10n from '@vscode/l10n';
import type { Families } from '../../protocol/models';
import { problemOf, statusProblem } from './problems';
import { isRepositoryName, type Hub } from './repository';

export interface SearchHit {
  readonly name: string;
  readonly license: string;
  /** The hub asks for consent to a licence, and a token, before it gives the files. */
  readonly isGated: boolean;
  readonly downloads: number;
  readonly format: 'GGUF' | 'MLX' | 'safetensors';
  /** Of all the weights; null for GGUF, of which there are several sizes to choose from. */
  readonly sizeBytes: number | null;
  /** Null = unknown. */
  readonly parameters: number | null;
}

export interface SearchResult {
  /** Most downloaded first. */
  readonly hits: readonly SearchHit[];
  /** Models that fit the words and that this engine does not run. */
  readonly leftOut: number;
}

/** The most that one question asks for. */
const LIMIT = 60;
const FIELDS = ['gated', 'downloads', 'tags', 'cardData', 'config', 'safetensors', 'gguf'];

/** Bytes of a number, by the names that safetensors have for types. */
const WIDTHS: Readonly<Record<string, number>> = {
  F64: 8,
  I64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
};

/** Rejects with what happened and what to do. */
export async function searchModels(
  words: string,
  hub: Hub,
  families: Families,
): Promise<SearchResult> {
  const query = new URLSearchParams([
    ['search', words],
    ['sort', 'downloads'],
    ['limit', String(LIMIT)],
    ...FIELDS.map((field) => ['expand', field]),
  ]);
  const headers = {
    accept: 'application/json',
    ...(hub.token && { authorization: `Bearer ${hub.token}` }),
  };
  const answer = await hub.fetch(`${hub.url}/api/models?${query}`, { headers }).catch((error) => {
    throw new Error(problemOf(error, hub.url), { cause: error });
  });
  if (!answer.ok) {
    throw new Error(statusProblem(answer.status, answer.headers.get('retry-after')));
  }
  const listed: unknown = await answer.json().catch(() => null);
  if (!Array.isArray(listed)) {
    throw new Error(
      l10n.t('{url} does not answer like a model hub: is there a proxy, or another address?', {
        url: hub.url,
      }),
    );
  }
  const hits = listed.flatMap((entry) => hitOf(entry, families));
  return { hits, leftOut: listed.length - hits.length };
}

type Json = Readonly<Record<string, unknown>>;

/** One model, or nothing when the engine does not run it. What a hub says is checked like anybody's. */
function hitOf(entry: unknown, families: Families): SearchHit[] {
  const model = objectOf(entry);
  const name = model['id'];
  if (typeof name !== 'string' || !isRepositoryName(name)) return [];
  const tags = Array.isArray(model['tags']) ? model['tags'] : [];
  const [gguf, safetensors] = [objectOf(model['gguf']), objectOf(model['safetensors'])];
  const isGguf = tags.includes('gguf') || 'architecture' in gguf;
  const runs = isGguf
    ? families.ggufArchitectures.includes(String(gguf['architecture']))
    : 'parameters' in safetensors && runsConfig(objectOf(model['config']), families);
  if (!runs) return [];
  const license = objectOf(model['cardData'])['license'];
  return [
    {
      name,
      license: typeof license === 'string' ? license : l10n.t('unknown licence'),
      isGated: model['gated'] !== false && model['gated'] !== undefined,
      downloads: numberOf(model['downloads']) ?? 0,
      format: isGguf ? 'GGUF' : tags.includes('mlx') ? 'MLX' : 'safetensors',
      sizeBytes: isGguf ? null : weightBytes(objectOf(safetensors['parameters'])),
      // MLX packs several weights into one number of a file.
      parameters: tags.includes('mlx') ? null : numberOf((isGguf ? gguf : safetensors)['total']),
    },
  ];
}

/** MLX's own quantization has no name; others name their method, and of those only gpt-oss's is known. */
function runsConfig(config: Json, { modelTypes }: Families): boolean {
  const method = objectOf(config['quantization_config'])['quant_method'];
  return (
    modelTypes.includes(String(config['model_type'])) &&
    (method === undefined || method === 'mxfp4')
  );
}

function weightBytes(parameters: Json): number {
  return Object.entries(parameters).reduce(
    (sum, [type, count]) => sum + (numberOf(count) ?? 0) * (WIDTHS[type] ?? 1),
    0,
  );
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
