import { badModel, quote } from './bad_model';
import { FIM_FAMILIES, STOP_TOKENS } from './fim_families';
import type { FimTemplate, Manifest } from './manifest';
import type { Tokenizer } from './tokenizer';

/** Ids of a fill-in-the-middle prompt in order; the texts are encoded as plain text where they stand. */
export type FimLayout = readonly (number | 'prefix' | 'suffix')[];

/** How a model is asked for the text between two others. */
export interface FimFormat {
  readonly layout: FimLayout;
  /** 'suffix-first' keeps the cached keys and values while a user types: the prompt only grows at its end. */
  readonly order: 'suffix-first' | 'prefix-first';
  /** Starts a file: this id, then path, line feed and content. */
  readonly fileSep?: number;
  /** Starts a repository: this id, then its name and a line feed. */
  readonly repoName?: number;
  /** Ids that end the answer besides the model's end of sequence. */
  readonly stopIds: readonly number[];
}

/**
 * The format of a model: what its anllm.json declares, else the first known family whose control tokens the tokenizer
 * has. The model's name is never looked at. null = the model cannot fill in.
 */
export function findFim(tokenizer: Tokenizer, manifest: Manifest): FimFormat | null {
  if (manifest.fim !== null) return declaredFormat(tokenizer, manifest.fim);
  for (const family of FIM_FAMILIES) {
    const layout = parseLayout(tokenizer, family.template);
    if (layout !== null) {
      const fileSep = firstKnown(tokenizer, family.fileSeps);
      const repoName = firstKnown(tokenizer, family.repoNames);
      return format(tokenizer, layout, fileSep, repoName);
    }
  }
  return null;
}

/** The part of a prompt that asks for the text between `prefix` and `suffix`, both encoded as plain text. */
export function fimPrompt(
  { layout }: FimFormat,
  prefix: readonly number[],
  suffix: readonly number[],
): number[] {
  const texts = { prefix, suffix };
  return layout.flatMap((part) => (typeof part === 'number' ? part : texts[part]));
}

function declaredFormat(tokenizer: Tokenizer, fim: FimTemplate): FimFormat {
  const layout = parseLayout(tokenizer, fim.template);
  if (layout === null) {
    const expected =
      'expected {prefix} and {suffix} once each, between control tokens of the tokenizer';
    throw badModel(fim.file, `fim.template: got ${quote(fim.template)}, ${expected}`);
  }
  const header = (key: 'fileHeader' | 'repoHeader', end: string) => {
    const text = fim[key];
    if (text === null) return null;
    const id = text.endsWith(end) ? tokenizer.specialId(text.slice(0, -end.length)) : null;
    if (id !== null) return id;
    throw badModel(
      fim.file,
      `fim.${key}: got ${quote(text)}, expected a control token and ${quote(end)}`,
    );
  };
  return format(
    tokenizer,
    layout,
    header('fileHeader', '{path}\n'),
    header('repoHeader', '{repo}\n'),
  );
}

function format(
  tokenizer: Tokenizer,
  layout: FimLayout,
  fileSep: number | null,
  repoName: number | null,
): FimFormat {
  const stops = STOP_TOKENS.map((text) => tokenizer.specialId(text));
  const stopIds = new Set(
    [tokenizer.eosId, fileSep, repoName, ...stops].filter((id) => id !== null),
  );
  for (const part of layout) if (typeof part === 'number') stopIds.add(part);
  return {
    layout,
    order: layout.indexOf('suffix') < layout.indexOf('prefix') ? 'suffix-first' : 'prefix-first',
    ...(fileSep === null ? {} : { fileSep }),
    ...(repoName === null ? {} : { repoName }),
    stopIds: [...stopIds].sort((a, b) => a - b),
  };
}

/** null when the tokenizer lacks one of the template's control tokens, or the template has something else. */
function parseLayout(tokenizer: Tokenizer, template: string): FimLayout | null {
  const layout: (number | 'prefix' | 'suffix')[] = [];
  for (const piece of template.split(/(\{prefix\}|\{suffix\})/)) {
    if (piece === '{prefix}') layout.push('prefix');
    else if (piece === '{suffix}') layout.push('suffix');
    else {
      const ids = tokenizer.encodeTemplate(piece);
      if (!ids.every((id) => tokenizer.isSpecial(id)) || tokenizer.decode(ids) !== piece)
        return null;
      layout.push(...ids);
    }
  }
  const hasOne = (text: 'prefix' | 'suffix') => layout.filter((part) => part === text).length === 1;
  return hasOne('prefix') && hasOne('suffix') ? layout : null;
}

function firstKnown(tokenizer: Tokenizer, texts: readonly string[]): number | null {
  for (const text of texts) {
    const id = tokenizer.specialId(text);
    if (id !== null) return id;
  }
  return null;
}
