/** What the text stages must know of a language: where strings and comments are, and what opens a block. */
export interface LanguageTraits {
  readonly lineComments: readonly string[];
  readonly blockComments: readonly (readonly [open: string, close: string])[];
  /** Quotes whose string ends with its line. */
  readonly quotes: readonly string[];
  /** Quotes whose string may run over several lines; tried before `quotes`. */
  readonly longQuotes: readonly string[];
  /** `'` makes a character, or a lifetime or type variable when no second one follows. */
  readonly charLiterals: boolean;
  /** `/` after an operator begins a regular expression. */
  readonly regexLiterals: boolean;
  /** Sentences, not statements. */
  readonly prose: boolean;
  /** A block is opened by `:` and told by indentation alone. */
  readonly colonBlocks: boolean;
  /** Words at the end of a line that open a block, and words at the start of a line that close one. */
  readonly blockWords: { readonly open: RegExp; readonly close: RegExp } | null;
}

const C_LIKE: LanguageTraits = {
  lineComments: ['//'],
  blockComments: [['/*', '*/']],
  quotes: ['"', "'"],
  longQuotes: [],
  charLiterals: false,
  regexLiterals: false,
  prose: false,
  colonBlocks: false,
  blockWords: null,
};
const SCRIPT: LanguageTraits = { ...C_LIKE, longQuotes: ['`'], regexLiterals: true };
const HASH: LanguageTraits = { ...C_LIKE, lineComments: ['#'], blockComments: [] };
const PROSE: LanguageTraits = {
  ...C_LIKE,
  prose: true,
  lineComments: [],
  blockComments: [],
  quotes: [],
};
const MARKUP: LanguageTraits = {
  ...PROSE,
  prose: false,
  blockComments: [['<!--', '-->']],
  quotes: ['"'],
};
const PYTHON: LanguageTraits = { ...HASH, longQuotes: ['"""', "'''"], colonBlocks: true };
const RUST: LanguageTraits = { ...C_LIKE, quotes: ['"'], charLiterals: true };
const RUBY: LanguageTraits = {
  ...HASH,
  blockWords: {
    open: /(?:\bdo(?:\s*\|[^|]*\|)?|\bthen|^\s*(?:def|class|module|if|unless|while|case|begin)\b.*)$/,
    close: /^end\b/,
  },
};
const LISP: LanguageTraits = { ...C_LIKE, lineComments: [';'], blockComments: [], quotes: ['"'] };
const STYLE: LanguageTraits = { ...C_LIKE, lineComments: [] };
const SHELL: LanguageTraits = {
  ...HASH,
  blockWords: { open: /\b(?:then|do|else|in)$/, close: /^(?:fi|done|esac)\b/ },
};
const LUA: LanguageTraits = {
  ...C_LIKE,
  lineComments: ['--'],
  blockComments: [['--[[', ']]']],
  blockWords: {
    open: /(?:\b(?:then|do|else|repeat)|\bfunction\b[^()]*\([^)]*\))$/,
    close: /^(?:end|until)\b/,
  },
};

const BY_LANGUAGE: Readonly<Record<string, LanguageTraits>> = {
  javascript: SCRIPT,
  javascriptreact: SCRIPT,
  typescript: SCRIPT,
  typescriptreact: SCRIPT,
  vue: SCRIPT,
  svelte: SCRIPT,
  go: { ...C_LIKE, longQuotes: ['`'] },
  rust: RUST,
  python: PYTHON,
  ruby: RUBY,
  lua: LUA,
  shellscript: SHELL,
  makefile: HASH,
  dockerfile: HASH,
  yaml: { ...HASH, colonBlocks: true },
  toml: { ...HASH, longQuotes: ['"""', "'''"] },
  ini: HASH,
  perl: HASH,
  r: HASH,
  elixir: { ...RUBY, longQuotes: ['"""'] },
  julia: RUBY,
  php: { ...C_LIKE, lineComments: ['//', '#'] },
  powershell: { ...HASH, blockComments: [['<#', '#>']] },
  coffeescript: { ...HASH, blockComments: [['###', '###']], longQuotes: ['"""', "'''"] },
  graphql: { ...HASH, longQuotes: ['"""'] },
  terraform: { ...HASH, blockComments: [['/*', '*/']] },
  nix: { ...HASH, blockComments: [['/*', '*/']], quotes: ['"'], longQuotes: ["''"] },
  cmake: HASH,
  dotenv: HASH,
  properties: HASH,
  dockercompose: { ...HASH, colonBlocks: true },
  kotlin: { ...C_LIKE, longQuotes: ['"""'] },
  scala: { ...C_LIKE, longQuotes: ['"""'], quotes: ['"'], charLiterals: true },
  java: { ...C_LIKE, longQuotes: ['"""'] },
  dart: { ...C_LIKE, longQuotes: ['"""', "'''"] },
  clojure: LISP,
  lisp: LISP,
  scheme: LISP,
  fsharp: {
    ...C_LIKE,
    blockComments: [['(*', '*)']],
    longQuotes: ['"""'],
    quotes: ['"'],
    charLiterals: true,
  },
  ocaml: {
    ...C_LIKE,
    lineComments: [],
    blockComments: [['(*', '*)']],
    quotes: ['"'],
    charLiterals: true,
  },
  erlang: { ...C_LIKE, lineComments: ['%'], blockComments: [] },
  vb: { ...C_LIKE, lineComments: ["'"], blockComments: [], quotes: ['"'] },
  css: STYLE,
  sql: { ...C_LIKE, lineComments: ['--'] },
  haskell: {
    ...C_LIKE,
    lineComments: ['--'],
    blockComments: [['{-', '-}']],
    quotes: ['"'],
    charLiterals: true,
  },
  swift: { ...C_LIKE, quotes: ['"'], longQuotes: ['"""'] },
  html: MARKUP,
  xml: MARKUP,
  markdown: PROSE,
  plaintext: PROSE,
  latex: PROSE,
  restructuredtext: PROSE,
  'git-commit': PROSE,
  scminput: PROSE,
  mdx: PROSE,
};

/** File name endings, where no editor knows the language. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascriptreact',
  ts: 'typescript',
  mts: 'typescript',
  tsx: 'typescriptreact',
  rs: 'rust',
  py: 'python',
  rb: 'ruby',
  sh: 'shellscript',
  bash: 'shellscript',
  yml: 'yaml',
  hs: 'haskell',
  ex: 'elixir',
  jl: 'julia',
  pl: 'perl',
  md: 'markdown',
  txt: 'plaintext',
  tex: 'latex',
  rst: 'restructuredtext',
  svg: 'xml',
  ps1: 'powershell',
  tf: 'terraform',
  env: 'dotenv',
  kt: 'kotlin',
  kts: 'kotlin',
  clj: 'clojure',
  fs: 'fsharp',
  ml: 'ocaml',
  erl: 'erlang',
};

/** By VS Code's language id, or the ending of a file's name. What is not in the tables reads as C. */
export function languageTraits(language: string): LanguageTraits {
  return BY_LANGUAGE[BY_EXTENSION[language] ?? language] ?? C_LIKE;
}
