/** Compiling takes time and memory that grow with these; far above what people and tools write. */
export const MAX_SCHEMA_CHARS = 64 * 1024;
export const MAX_SCHEMA_DEPTH = 32;
/** Of minLength, maxItems and the like. */
export const MAX_COUNT = 100_000;
export const MAX_PATTERN_CHARS = 4 * 1024;
export const MAX_EBNF_CHARS = 64 * 1024;
/** Parsers recurse on parentheses. */
export const MAX_NESTING = 64;
export const MAX_CHOICES = 1024;
export const MAX_CHOICE_CHARS = 4 * 1024;
/** Spaces and line ends in a row in JSON: enough for deep indentation, and no endless run. */
export const MAX_JSON_WHITESPACE = 32;
/** Ways to go on at one place: more are a grammar that never reads a character, or that nobody can follow. */
export const MAX_CLOSURE = 20_000;
/** What is kept of one grammar's automaton; far more than one answer passes through. */
export const MAX_STATES = 20_000;
/** Grammars that are kept. */
export const MAX_CACHED = 16;
