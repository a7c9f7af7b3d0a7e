/** Fill-in-the-middle control tokens of public code models, as their model cards and reports give them. */
interface FimFamily {
  readonly template: string;
  /** Alternatives of one meaning; a tokenizer has at most one. */
  readonly fileSeps: readonly string[];
  readonly repoNames: readonly string[];
}

export const FIM_FAMILIES: readonly FimFamily[] = [
  {
    // Qwen2.5-Coder, Qwen3-Coder, Granite 4, CodeGemma
    template: '<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>',
    fileSeps: ['<|file_sep|>', '<|file_separator|>'],
    repoNames: ['<|repo_name|>'],
  },
  {
    // StarCoder, StarCoder2, StableCode, Granite 3, CodeQwen1.5
    template: '<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>',
    fileSeps: ['<file_sep>', '<filename>'],
    repoNames: ['<repo_name>', '<reponame>'],
  },
  {
    // SantaCoder
    template: '<fim-prefix>{prefix}<fim-suffix>{suffix}<fim-middle>',
    fileSeps: [],
    repoNames: [],
  },
  {
    // DeepSeek-Coder, DeepSeek-Coder-V2
    template: '<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>',
    fileSeps: [],
    repoNames: [],
  },
  {
    // CodeLlama
    template: '▁<PRE>{prefix}▁<SUF>{suffix}▁<MID>',
    fileSeps: [],
    repoNames: [],
  },
  {
    // Seed-Coder, https://arxiv.org/abs/2506.03524
    template: '<[fim-suffix]>{suffix}<[fim-prefix]>{prefix}<[fim-middle]>',
    fileSeps: [],
    repoNames: [],
  },
  {
    // CodeGeeX4, GLM-4.5
    template: '<|code_suffix|>{suffix}<|code_prefix|>{prefix}<|code_middle|>',
    fileSeps: [],
    repoNames: [],
  },
  {
    // Codestral
    template: '[SUFFIX]{suffix}[PREFIX]{prefix}',
    fileSeps: [],
    repoNames: [],
  },
];

/** The tokens of all templates. */
export const FIM_TOKENS: readonly string[] = FIM_FAMILIES.flatMap(({ template }) =>
  template.split(/\{prefix\}|\{suffix\}/).flatMap((part) => part.match(/▁?[<[].+?[>\]]+/gu) ?? []),
);

/** Control tokens after which no code of this gap follows: padding, end of text, end of a chat turn. */
export const STOP_TOKENS: readonly string[] = [
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|eot_id|>',
  '<|im_start|>',
  '<|im_end|>',
  '<|fim_pad|>',
  '<fim_pad>',
  '<fim-pad>',
  '<end_of_turn>',
  '<eos>',
  '</s>',
  '▁<EOT>',
  '<｜end▁of▁sentence｜>',
  '<[end▁of▁sentence]>',
  '<[PAD▁TOKEN]>',
  '<[SEP▁TOKEN]>',
];
