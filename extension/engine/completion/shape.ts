import type {
  CompletionPartial,
  CompletionResult,
  EmptyReason,
  StopCause,
} from '../../protocol/completion';
import { closeOpened } from './closing';
import { indentText, indentWidth, isBlank, restyleIndent } from './indent';
import { embedsAt, overlap, RestCloser } from './line_rest';
import { opensBlock, type Place } from './place';
import { loopingLines, loopInLine } from './repetition';
import { scanLine, type LoneCloser, type ScanState } from './scanner';
import { cleanStart } from './start';
import { bodyBelow, type PendingOpener, type Surroundings } from './surroundings';

/** On a blank line, simple statements end here at the latest; what comes later is seldom what was meant. */
const MAX_STATEMENT_LINES = 5;
/** Words that go on with a compound statement at its own indentation. */
const CONTINUES = /^(?:else|elif|elsif|except|finally|catch|rescue|ensure|case|default|when)\b/;
/** A shorter piece of a sentence says nothing. */
const MIN_PROSE = 20;
const CLOSES = /^[)\]}]/;
/** A line further below than the next must say something before it counts as repeated. */
const TELLING_LENGTH = 10;

export type Shaped = Pick<CompletionResult, 'text' | 'replaceAfter' | 'reason' | 'stop'>;

/**
 * Turns what the model writes into what is shown, while it writes: finds the end, so that decoding stops there, and
 * never shows what the document has already. Text has '\n' line ends.
 */
export class Shaper {
  /** Generated text that is not a whole line yet; before the first word, all of it. */
  private tail = '';
  private started = false;
  private readonly lines: string[] = [];
  private stop: StopCause | null = null;
  /** Why nothing is left, should nothing be left. */
  private emptyReason: EmptyReason = 'model_silent';

  private scan: ScanState;
  private readonly outer: PendingOpener[];
  private readonly rest: RestCloser;
  /** Column of the header (kind 'body') or of the statements; null while only one line is wanted. */
  private base: number | null;
  private kind: 'line' | 'body' | 'statements';
  private nested = false;

  constructor(
    private readonly around: Surroundings,
    private readonly place: Place,
  ) {
    this.scan = { stack: [], inside: around.inside };
    this.outer = [...around.pending];
    this.rest = new RestCloser(around.rest);
    this.kind = place.kind;
    this.base = place.kind === 'body' ? place.indent : null;
  }

  /** Takes the next piece of text. False: what is wanted is complete, generate no more. */
  push(delta: string): boolean {
    if (this.stop) return false;
    this.tail += delta.replaceAll('\r', '');
    if (!this.started && !this.start()) return this.stop === null;
    for (let end = this.tail.indexOf('\n'); end >= 0; end = this.tail.indexOf('\n')) {
      const line = this.tail.slice(0, end);
      this.tail = this.tail.slice(end + 1);
      this.add(line);
      if (this.stopped()) return false;
    }
    const loop = loopInLine(this.tail);
    if (loop < 0) return true;
    this.add(this.tail.slice(0, loop));
    this.end('repetition', 'repeats_itself');
    return false;
  }

  /**
   * The suggestion so far: whole lines as they will be inserted, and the line that is being written. It may lose some of
   * its end when a whole line shows that the line does not belong here.
   */
  preview(): CompletionPartial {
    if (!this.started) return { text: '', replaceAfter: 0 };
    const isBlankStart =
      isBlank(this.tail) && (this.lines.length > 0 || this.around.lineBefore === '');
    const last = this.stop || isBlankStart ? [] : [this.tail];
    const lines = this.restyled([...this.lines, ...last]);
    return { text: lines.join('\n'), replaceAfter: this.rest.used };
  }

  /** Call once, when the generation ended. */
  finish(end: 'model' | 'length' | 'cancelled'): Shaped {
    if (end === 'cancelled') return this.empty('cancelled', 'cancelled');
    if (!this.stop && end === 'model') {
      if (this.started) this.add(this.tail);
      this.stop ??= 'model';
    }
    if (!this.stop) this.cutOff();
    this.stop ??= 'length';
    this.dropUnfinished();
    if (this.lines.every(isBlank)) return this.empty(this.emptyReason, this.stop);
    return this.complete(this.stop);
  }

  private start(): boolean {
    const start = cleanStart(this.tail, this.around, this.place);
    if (start.kind === 'nothing') this.stop = 'line';
    if (start.kind !== 'text') return false;
    this.started = true;
    this.tail = start.text;
    return true;
  }

  /** Takes one whole line, or sets `stop`. */
  private add(raw: string): void {
    const first = this.lines.length === 0;
    const before = first ? this.around.lineBefore : '';
    let line = raw.trimEnd();
    if (isBlank(line)) {
      if (!first && this.blankEnds()) this.stop = 'block';
      else this.lines.push('');
      return;
    }
    const width = indentWidth(before + line, this.around.style.tabSize);
    if (this.repeatsBelow((before + line).trim(), width))
      return this.end('suffix', 'repeats_suffix');
    if (!first && this.leaves(line, width)) return this.end('block');
    if (this.kind === 'statements') this.base ??= width;

    line = this.cut(line, first, width);
    if (isBlank(line)) return;
    this.lines.push(line);
    const drop = loopingLines(this.lines.map(trim), this.around.above.map(trim));
    if (drop > 0) {
      this.lines.splice(-drop);
      return this.end('repetition', 'repeats_itself');
    }
    if (!this.stop) this.decide(before + line, width, first);
  }

  private end(cause: StopCause, reason?: EmptyReason): void {
    this.stop = cause;
    if (reason) this.emptyReason = reason;
  }

  private stopped(): boolean {
    return this.stop !== null;
  }

  /** A blank line ends statements at their own level, and a second one in a row ends anything. */
  private blankEnds(): boolean {
    if (this.scan.inside) return false;
    if (this.kind === 'line' || isBlank(this.lines.at(-1) ?? '')) return this.lines.length > 1;
    return this.kind === 'statements' && this.scan.stack.length === 0 && !this.nested;
  }

  private repeatsBelow(line: string, width: number): boolean {
    const { below, traits, rest } = this.around;
    if (rest !== '' && this.lines.length === 0) return false;
    const next = below[0];
    if (next?.text === line && /\w/.test(line)) {
      // `end` and `fi` look alike; only one at the same column is the same one.
      return traits.blockWords?.close.test(line) ? next.indent === width : true;
    }
    return line.length >= TELLING_LENGTH && below.slice(1).some(({ text }) => text === line);
  }

  /** True when the line is outside of the block that is being written. */
  private leaves(line: string, width: number): boolean {
    if (this.base === null || this.scan.inside) return false;
    const text = line.trim();
    const closes = CLOSES.test(text) || (this.around.traits.blockWords?.close.test(text) ?? false);
    if (this.kind === 'body') return width < this.base || (width === this.base && !closes);
    if (width < this.base) return !closes;
    return width === this.base && this.nested && !closes && !CONTINUES.test(text);
  }

  /** Cuts the line where the document goes on; sets `stop` when it does. */
  private cut(line: string, first: boolean, width: number): string {
    const { traits, rest, restCloses } = this.around;
    let kept = line;
    if (first && !restCloses) {
      const at = rest.length > 2 ? kept.indexOf(rest.trim()) : -1;
      const middle = at >= 0 ? at : embedsAt(kept, rest);
      if (middle >= 0) kept = kept.slice(0, middle);
      kept = kept.slice(0, kept.length - overlap(kept, rest));
      if (kept !== line) this.end('suffix', 'repeats_suffix');
    }
    const scan = scanLine(kept, this.scan, traits, width);
    const reopened = new Set(scan.state.stack.map(({ closer }) => closer));
    const stray = scan.lone.find((closer) => !this.admits(kept, closer, first, reopened));
    if (stray) {
      kept = kept.slice(0, stray.index);
      this.end(
        'bracket',
        this.outer.at(-1)?.closer === stray.char ? 'repeats_suffix' : 'unbalanced',
      );
    }
    this.scan = kept === line ? scan.state : scanLine(kept, this.scan, traits, width).state;
    // Blanks before the rest of the line are wanted; elsewhere a line has none at its end.
    return first && rest !== '' && !restCloses ? kept : kept.trimEnd();
  }

  /**
   * May the text close what was open at the cursor? Yes if nothing below does, or if it takes that one's place: right
   * of the cursor, or below, when the line also opens a bracket that the one below then closes.
   */
  private admits(
    line: string,
    closer: LoneCloser,
    first: boolean,
    reopened: ReadonlySet<string>,
  ): boolean {
    const partner = this.outer.at(-1);
    const matches = partner?.closer === closer.char;
    if (first && this.rest.take(line, closer)) {
      if (matches) this.outer.pop();
      return true;
    }
    if (!CLOSES.test(closer.char)) return true;
    if (!matches || (partner.served && !reopened.has(closer.char))) return false;
    this.outer.pop();
    return true;
  }

  /** After a line was taken: is the text complete? */
  private decide(full: string, width: number, first: boolean): void {
    const { traits, pending } = this.around;
    const opens = opensBlock(full, traits) && !this.scan.inside;
    if (this.kind === 'line') {
      if (this.place.kind !== 'line' || this.place.then === 'nothing') return this.end('line');
      if (opens && !this.closedBelow(width) && !bodyBelow(this.around, width)) {
        this.kind = 'body';
        this.base = width;
      } else if (this.place.then === 'statements') {
        this.kind = 'statements';
        this.base = width;
      } else {
        this.end('line');
      }
      return;
    }
    const base = this.base ?? width;
    if (width > base) this.nested = true;
    if (opens && bodyBelow(this.around, width)) return this.end('block');
    if (this.scan.inside || opens) return;
    if (this.kind === 'body') {
      const headerClosed = this.outer.length < pending.length;
      const goesOn = first
        ? !headerClosed && /[({[]\s*$/.test(this.around.lineBefore)
        : width > base && !headerClosed;
      if (!goesOn) this.end('block');
      return;
    }
    const closed = width < base || (width === base && this.nested && this.scan.stack.length === 0);
    const closesWord =
      CLOSES.test(full.trim()) || (traits.blockWords?.close.test(full.trim()) ?? false);
    if (closed && closesWord) this.end('block');
    else if (!this.nested && this.lines.length >= MAX_STATEMENT_LINES) this.end('block');
  }

  /** A closing bracket below waits for the block that this line opens. */
  private closedBelow(width: number): boolean {
    const opener = this.scan.stack.at(-1);
    return this.around.spare.some(
      (spare) => spare.closer === opener?.closer && spare.indent === width,
    );
  }

  /** The token limit came in the middle of a line. Of code, half a line is no suggestion; of prose, whole words are. */
  private cutOff(): void {
    const words = this.tail.slice(0, this.tail.search(/\s\S*$/));
    if (this.lines.every(isBlank) && this.around.traits.prose && words.length > MIN_PROSE) {
      this.add(words);
    } else {
      this.emptyReason = 'cut_off';
    }
    this.stop = 'length';
  }

  /** Blank lines at the end go, and headers whose block never came, save the only line. */
  private dropUnfinished(): void {
    const { lines, around } = this;
    const { tabSize } = around.style;
    for (let last = lines.at(-1); last !== undefined; last = lines.at(-1)) {
      const only = lines.filter((line) => !isBlank(line)).length === 1;
      const header =
        opensBlock(last, around.traits) && !bodyBelow(around, indentWidth(last, tabSize));
      if (!isBlank(last) && (only || !header)) break;
      lines.pop();
    }
  }

  private complete(stop: StopCause): Shaped {
    const { around } = this;
    const lines = this.restyled(closeOpened(this.lines, around));
    const last = lines.length - 1;
    let replaceAfter = this.rest.used;
    const taken = around.rest.slice(0, replaceAfter);
    const line = lines[last] ?? '';
    if (replaceAfter > 0 && last === 0 && line.endsWith(taken)) {
      lines[last] = line.slice(0, line.length - taken.length);
      replaceAfter = 0;
      if (isBlank(lines[last])) return this.empty('repeats_suffix', stop);
    } else if (
      this.place.kind === 'body' &&
      this.lines[0] === '' &&
      replaceAfter === 0 &&
      CLOSES.test(around.rest)
    ) {
      // `{▮}`: the closing bracket moves to a line of its own below the body.
      lines.push(indentText(this.place.indent, around.style));
    }
    return { text: lines.join('\n'), replaceAfter, reason: null, stop };
  }

  /** In the editor's tabs or blanks. */
  private restyled(lines: readonly string[]): string[] {
    const { lineBefore, style } = this.around;
    return lines.map((line, row) =>
      row > 0 || lineBefore === '' ? restyleIndent(line, style) : line,
    );
  }

  private empty(reason: EmptyReason, stop: StopCause): Shaped {
    return { text: '', replaceAfter: 0, reason, stop };
  }
}

function trim(line: string): string {
  return line.trim();
}
