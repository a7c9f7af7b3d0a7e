import { isUtf8 } from 'node:buffer';
import { JsonBytes, NotPlain } from './json_bytes';
import { MergeTable } from './merge_table';
import { MAX_TABLE_ID, TokenTable } from './token_table';

/** A tokenizer.json whose large parts have become tables. */
export interface BpeFile {
  /** The same file with an empty vocabulary and no merges. */
  readonly rest: Uint8Array;
  readonly tokens: TokenTable;
  readonly merges: MergeTable;
}

/** What is beyond these is left to the reader that says so. */
export interface BpeLimits {
  readonly tokens: number;
  readonly tokenLength: number;
}

const SPACE = 0x20;
const LIST = 0x5b;

/**
 * Reads vocabulary and merges of a BPE tokenizer.json as they stand in the file, in a tenth of the time that it takes to
 * make an object of 150,000 properties and to look its names up. Null where the file is not plain, or wrong: the
 * ordinary reader knows what to say.
 */
export function readBpeFile(bytes: Uint8Array, limits: BpeLimits): BpeFile | null {
  if (!isUtf8(bytes)) return null;
  try {
    return new Reader(bytes, limits).read();
  } catch (error) {
    if (error instanceof NotPlain || error instanceof RangeError) return null;
    throw error;
  }
}

class Reader {
  private readonly json: JsonBytes;
  private readonly key = new Uint8Array(256);
  private tokens: TokenTable | null = null;
  private merges: MergeTable | null = null;
  /** Byte ranges that `rest` does without. */
  private readonly cuts: { start: number; end: number }[] = [];

  constructor(
    private readonly bytes: Uint8Array,
    private readonly limits: BpeLimits,
  ) {
    this.json = new JsonBytes(bytes);
  }

  read(): BpeFile {
    const { json } = this;
    json.items('{', '}', () => {
      if (this.name() === 'model') this.readModel();
      else json.skip();
    });
    if (!Number.isNaN(json.peek())) throw new NotPlain();
    const { tokens, merges } = this;
    if (tokens === null || merges === null) throw new NotPlain();
    return { rest: this.rest(), tokens, merges };
  }

  private readModel(): void {
    this.json.items('{', '}', () => {
      const name = this.name();
      if (name === 'vocab') this.cut(() => this.readVocabulary());
      else if (name === 'merges') this.cut(() => this.readMerges());
      else this.json.skip();
    });
  }

  private name(): string {
    const name = String.fromCharCode(...this.key.subarray(0, this.json.string(this.key, 0)));
    this.json.expect(':');
    return name;
  }

  /** Leaves the brackets of what is read. */
  private cut(read: () => void): void {
    this.json.peek();
    const start = this.json.position + 1;
    read();
    this.cuts.push({ start, end: this.json.position - 1 });
  }

  private readVocabulary(): void {
    const { json, limits } = this;
    if (this.tokens !== null) throw new NotPlain();
    const texts = new Uint8Array(this.bytes.length - json.position);
    const ends = new Int32Array(limits.tokens);
    const ids = new Int32Array(limits.tokens);
    let count = 0;
    let end = 0;
    json.items('{', '}', () => {
      const start = end;
      end = json.string(texts, end);
      json.expect(':');
      const id = json.integer();
      const isTooLong = end - start > limits.tokenLength || count >= limits.tokens;
      if (isTooLong || id > MAX_TABLE_ID) throw new NotPlain();
      ends[count] = end;
      ids[count++] = id;
    });
    this.tokens = TokenTable.build(texts.slice(0, end), count, ends, ids);
  }

  /** Merges are `"a b"` or `["a", "b"]`; they stand behind the vocabulary. */
  private readMerges(): void {
    const { json, tokens } = this;
    if (tokens === null || this.merges !== null) throw new NotPlain();
    const pair = new Uint8Array(2 * this.limits.tokenLength + 8);
    // Left, right and result by turns.
    const found = new Int32Array(3 * this.limits.tokens);
    let length = 0;
    json.items('[', ']', () => {
      let middle: number;
      let end: number;
      if (json.peek() === LIST) {
        json.expect('[');
        middle = json.string(pair, 0);
        json.expect(',');
        end = json.string(pair, middle);
        json.expect(']');
      } else {
        end = json.string(pair, 0);
        middle = onlySpace(pair, end);
        pair.copyWithin(middle, middle + 1, end--);
      }
      const left = tokens.find(pair, 0, middle);
      const right = tokens.find(pair, middle, end);
      // Most files number their tokens as they were merged.
      const result = tokens.find(pair, 0, end, (found[length - 1] ?? -2) + 1);
      if (left < 0 || right < 0 || result < 0) throw new NotPlain();
      if (length >= found.length) throw new NotPlain();
      found[length++] = left;
      found[length++] = right;
      found[length++] = result;
    });
    const table = new MergeTable(length / 3);
    const at = (i: number) => found[i] as number;
    for (let i = 0; i < length; i += 3) table.set(at(i), at(i + 1), i / 3, at(i + 2));
    this.merges = table;
  }

  private rest(): Uint8Array {
    const pieces: Uint8Array[] = [];
    let start = 0;
    for (const cut of this.cuts) {
      pieces.push(this.bytes.subarray(start, cut.start));
      start = cut.end;
    }
    return Buffer.concat([...pieces, this.bytes.subarray(start)]);
  }
}

function onlySpace(bytes: Uint8Array, end: number): number {
  let found = -1;
  for (let i = 0; i < end; i++) {
    if (bytes[i] !== SPACE) continue;
    if (found >= 0) throw new NotPlain();
    found = i;
  }
  if (found < 0) throw new NotPlain();
  return found;
}
