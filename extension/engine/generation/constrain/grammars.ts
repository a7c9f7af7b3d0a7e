import type { Tokenizer } from '../../loading/tokenizer';
import { Automaton } from './automaton';
import { compile } from './code';
import type { Constraint, Grammar } from './constraint';
import { rulesOf } from './grammar_rules';
import { MAX_CACHED } from './limits';
import { Matcher } from './matcher';
import { VocabularyTrie } from './vocabulary_trie';

export interface GrammarParts {
  readonly tokenizer: Pick<Tokenizer, 'isSpecial' | 'tokenBytes'>;
  readonly eosIds: readonly number[];
  /** Tokens that have a logit. */
  readonly vocabSize: number;
}

/** Grammars for the vocabulary of one model; what one answer has learned of a grammar serves the next. */
export class Grammars {
  private trie: VocabularyTrie | null = null;
  /** By grammar, the least recently used first. */
  private readonly automata = new Map<string, Automaton>();

  constructor(private readonly parts: GrammarParts) {}

  /** A constraint for one answer. Throws EngineError bad_request when the grammar is wrong or not supported. */
  begin(grammar: Grammar): Constraint {
    const { tokenizer, eosIds } = this.parts;
    const automaton = this.automaton(grammar);
    this.trie ??= this.vocabulary();
    const tokenBytes = (id: number) => tokenizer.tokenBytes(id);
    return new Matcher({ automaton, trie: this.trie, eosIds, tokenBytes });
  }

  private automaton(grammar: Grammar): Automaton {
    const key = JSON.stringify(grammar);
    const automaton = this.automata.get(key) ?? new Automaton(compile(rulesOf(grammar)));
    this.automata.delete(key);
    this.automata.set(key, automaton);
    const [oldest] = this.automata.keys();
    if (this.automata.size > MAX_CACHED && oldest !== undefined) this.automata.delete(oldest);
    return automaton;
  }

  private vocabulary(): VocabularyTrie {
    const { tokenizer, vocabSize } = this.parts;
    const nothing = new Uint8Array();
    return new VocabularyTrie(
      Array.from({ length: vocabSize }, (_, id) =>
        tokenizer.isSpecial(id) ? nothing : tokenizer.tokenBytes(id),
      ),
    );
  }
}
