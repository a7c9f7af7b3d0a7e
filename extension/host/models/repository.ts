/** A model's files on a Hugging Face hub: what there is, and what of it is needed. */
import * as l10n from '@vscode/l10n';
import { problemOf } from './problems';

export interface Hub {
  /** `https://huggingface.co`, or a mirror. */
  readonly url: string;
  /** For gated and private models. */
  readonly token: string | null;
  readonly fetch: typeof fetch;
}

export interface RemoteFile {
  /** Below the repository, with '/'; checked to stay there. */
  readonly path: string;
  readonly sizeBytes: number;
  /** `sha256:HEX` of large files, `git:HEX` of those that git keeps; null where the hub gives none. */
  readonly checksum: string | null;
}

/** A repository at one commit: the files of one state, also when a download goes on tomorrow. */
export interface RemoteRevision {
  readonly name: string;
  readonly revision: string;
}

export interface RemoteModel extends RemoteRevision {
  readonly license: string;
  readonly files: readonly RemoteFile[];
}

const NAME = /^[\w.-]{1,96}\/[\w.-]{1,96}$/;
/** Files of the names that models have, in the repository's own folder. */
const NEEDED =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|vocab|added_tokens|model\.safetensors\.index)\.json$|^(merges\.txt|chat_template\.jinja|LICENSE[\w.-]*)$|^[\w.-]+\.safetensors$/;
/** Projectors of images are no models. */
const GGUF = /^(?!mmproj)[\w.-]+\.gguf$/i;
/** `NAME-00002-of-00003.gguf`: a model in several files. */
const PART = /^(.+)-\d{5}-of-(\d{5})\.gguf$/i;
/** The same weights once more, in the layout of the makers' own tools. */
const CONSOLIDATED = /^consolidated.*\.safetensors$/;

/** A file that a download may consist of. */
export function isModelFile(path: string): boolean {
  return NEEDED.test(path) || GGUF.test(path);
}

export function isRepositoryName(text: string): boolean {
  return NAME.test(text) && !text.split('/').some((part) => /^\.+$/.test(part));
}

/** Rejects with an error whose message says what to do: no such model, no access, no network. */
export async function readRepository(name: string, hub: Hub): Promise<RemoteModel> {
  const access = {
    hubUrl: hub.url,
    fetch: hub.fetch,
    ...(hub.token && { accessToken: hub.token }),
  };
  try {
    // Not at start-up: most windows download nothing.
    const { listFiles, modelInfo } = await import('@huggingface/hub');
    const { sha, cardData } = await modelInfo({
      name,
      additionalFields: ['sha', 'cardData'],
      ...access,
    });
    const files: RemoteFile[] = [];
    const repo = { type: 'model', name } as const;
    for await (const entry of listFiles({ repo, revision: sha, ...access })) {
      if (entry.type !== 'file' || !isModelFile(entry.path)) continue;
      files.push({
        path: entry.path,
        sizeBytes: entry.lfs?.size ?? entry.size,
        checksum: checksumOf(entry),
      });
    }
    return { name, revision: sha, license: licenseOf(cardData), files };
  } catch (error) {
    throw new Error(`${name}: ${problemOf(error, hub.url)}`, { cause: error });
  }
}

function checksumOf({ lfs, oid }: { lfs?: { oid: string }; oid?: string }): string | null {
  if (lfs) return `sha256:${lfs.oid}`;
  return oid === undefined ? null : `git:${oid}`;
}

/** What can be downloaded of a repository: the folder of safetensors, or one of its GGUF files. */
export interface Variant {
  readonly label: string;
  readonly files: readonly RemoteFile[];
  readonly sizeBytes: number;
}

/** The label of what is a folder. */
export const FOLDER = 'safetensors';

/** The parts of a split GGUF model are one variant, named by the first. */
export function variantsOf({ files }: RemoteModel): Variant[] {
  const plain = files.filter(({ path }) => !GGUF.test(path));
  const weights = plain.filter(({ path }) => path.endsWith('.safetensors'));
  const others = weights.filter(({ path }) => !CONSOLIDATED.test(path));
  const needed = others.length > 0 ? plain.filter(({ path }) => !CONSOLIDATED.test(path)) : plain;
  const folder = weights.length > 0 ? [variant(FOLDER, needed)] : [];
  const ggufs = new Map<string, RemoteFile[]>();
  for (const file of files.filter(({ path }) => GGUF.test(path))) {
    const key = file.path.replace(PART, '$1-of-$2');
    ggufs.set(key, [...(ggufs.get(key) ?? []), file]);
  }
  return [
    ...folder,
    ...[...ggufs.values()].map((parts) => {
      const sorted = parts.sort((a, b) => (a.path < b.path ? -1 : 1));
      return variant(sorted[0]?.path ?? '', sorted);
    }),
  ];
}

function variant(label: string, files: readonly RemoteFile[]): Variant {
  return { label, files, sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

function licenseOf(card: unknown): string {
  const license =
    typeof card === 'object' && card !== null && 'license' in card ? card.license : null;
  return typeof license === 'string' ? license : l10n.t('unknown');
}
