/** What the text of an answer must be. */
export type Grammar =
  /** A JSON Schema object, or `true` for any JSON. */
  | { readonly type: 'json_schema'; readonly schema: unknown }
  /** Any JSON object. */
  | { readonly type: 'json_object' }
  | { readonly type: 'regex'; readonly pattern: string }
  /** One of these texts. */
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  /** EBNF with a rule `root`; ebnf_parser.ts says how it is written. */
  | { readonly type: 'ebnf'; readonly text: string };

/** Holds one answer to a grammar, token by token. */
export interface Constraint {
  /** The text is complete, and nothing may follow. */
  readonly isComplete: boolean;
  /**
   * Rules out, by logits [vocab] of -Infinity, every token that cannot come next. Throws EngineError bad_request when
   * no token can.
   */
  mask(logits: Float32Array): void;
  /**
   * The same as bits: bit id % 32 of word id / 32 says that a token can come next once `ids` have been taken. Null when
   * they cannot be taken, or nothing can follow.
   */
  allowedAfter(ids: readonly number[]): Uint32Array | null;
  /** Takes the token that was drawn. */
  accept(id: number): void;
}
