/** GGUF names a byte-level tokenizer's way to cut text into words; the patterns are those of the models' tokenizer.json. */
export interface PreTokenizer {
  /** Applied one after the other; what a pattern matches, and what lies between matches, are words. */
  readonly patterns: readonly string[];
  /** A word that is a token as a whole is not merged. */
  readonly ignoreMerges: boolean;
  /** Whether a sequence begins with the beginning-of-sequence token when the file does not say. */
  readonly addBos: boolean;
}

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const PUNCTUATION = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*';
const LETTERS = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+';
/** cl100k's form: `digits` to a word. */
const cl100k = (digits: string) => [CONTRACTIONS, LETTERS, digits, PUNCTUATION, SPACES].join('|');

const UPPER = '\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}';
const LOWER = '\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}';
/** o200k's form: words end where capitals begin. */
const o200k = (ending: string, digits: string) =>
  [
    `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]*[${LOWER}]+${ending}`,
    `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]+[${LOWER}]*${ending}`,
    digits,
    ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*',
    SPACES,
  ].join('|');

const HAN_AND_KANA = '[一-龥\\u3040-ゟ゠-ヿ]+';
const ASCII_PUNCTUATION = '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]';
const DEEPSEEK_V3 = [
  `${ASCII_PUNCTUATION}[A-Za-z]+`,
  '[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+',
  ' ?[\\p{P}\\p{S}]+[\\r\\n]*',
  SPACES,
].join('|');

interface Group extends Partial<PreTokenizer> {
  readonly names: readonly string[];
  readonly patterns: readonly string[];
}

const GROUPS: readonly Group[] = [
  {
    names: [
      'llama-bpe',
      'llama3',
      'llama-v3',
      'falcon3',
      'falcon-h1',
      'pixtral',
      'midm-2.0',
      'lfm2',
    ],
    patterns: [cl100k('\\p{N}{1,3}')],
    ignoreMerges: true,
    addBos: true,
  },
  { names: ['dbrx', 'smaug-bpe', 'glm4', 'chatglm-bpe'], patterns: [cl100k('\\p{N}{1,3}')] },
  {
    names: ['qwen2', 'deepseek-r1-qwen', 'stablelm2', 'hunyuan', 'megrez', 'kormo', 'solar-open'],
    patterns: [cl100k('\\p{N}')],
  },
  {
    names: ['qwen35'],
    patterns: [
      [
        CONTRACTIONS,
        '[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+',
        '\\p{N}',
        ' ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*',
        SPACES,
      ].join('|'),
    ],
  },
  {
    names: ['gpt-2', 'phi-2', 'mellum', 'olmo', 'mpt', 'jais', 'exaone4', 'a.x-4.0', 'trillion'],
    patterns: [GPT2],
  },
  {
    names: [
      'starcoder',
      'refact',
      'command-r',
      'smollm',
      'codeshell',
      'exaone',
      'minerva-7b',
      'mellum2',
    ],
    patterns: ['\\p{N}', GPT2],
  },
  {
    names: ['deepseek-coder'],
    patterns: ['[\\r\\n]', '\\s?\\p{L}+', '\\s?\\p{P}+', '[一-龥ࠀ-一가-\\ud7ff]+', '\\p{N}'],
  },
  {
    names: ['deepseek-llm'],
    patterns: [
      '[\\r\\n]',
      '\\s?[\\p{Lu}\\p{Ll}\\p{Lt}]+',
      '\\s?[!-/:-~！-／：-～‘-‟　-。]+',
      '\\s+$',
      '[一-龥ࠀ-一가-\\ud7ff]+',
      '\\p{N}+',
    ],
  },
  { names: ['deepseek-v3', 'hunyuan-dense'], patterns: ['\\p{N}{1,3}', HAN_AND_KANA, DEEPSEEK_V3] },
  {
    names: ['gpt-4o', 'llama4', 'kanana2', 'minimax-m2'],
    patterns: [o200k(`${CONTRACTIONS}?`, '\\p{N}{1,3}')],
  },
  { names: ['tekken'], patterns: [o200k('', '\\p{N}')], ignoreMerges: true, addBos: true },
  {
    names: ['seed-coder'],
    patterns: [
      [CONTRACTIONS, LETTERS, '\\p{N}{1}', ' ?[^\\s\\p{L}\\p{N}\\r\\n]+', SPACES].join('|'),
    ],
  },
  {
    // Files from before the format had names for this.
    names: ['default'],
    patterns: ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'],
  },
];

/** By the value of `tokenizer.ggml.pre`. */
export const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizer> = new Map(
  GROUPS.flatMap(({ names, patterns, ignoreMerges = false, addBos = false }) =>
    names.map((name) => [name, { patterns, ignoreMerges, addBos }] as const),
  ),
);
