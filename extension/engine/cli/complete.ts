import { readFileSync } from 'node:fs';
import { extname, relative } from 'node:path';
import { complete as completeAt } from '../completion/complete';
import { EngineError } from '../errors';
import { MULTILINE_MODES, type CompletionRequest } from '../../protocol/completion';
import { EXIT } from './exit_codes';
import { interruptSignal, printJson, withEngine } from './load';
import { ENGINE_HELP, ENGINE_OPTIONS, type Command } from './options';
import { print } from './terminal';

export const complete: Command = {
  name: 'complete',
  usage: 'FILE --at LINE:COL',
  summary:
    'What the editor would show at a place of a file (both numbers from 1): the same prompt, the same shaping.',
  options: {
    ...ENGINE_OPTIONS,
    at: { type: 'string' },
    multiline: { type: 'string' },
    'max-tokens': { type: 'string' },
  },
  help: {
    ...ENGINE_HELP,
    at: 'LINE:COL of the cursor; default: the end of the file',
    multiline: 'auto | never | always; default auto',
    'max-tokens': 'most tokens generated; default 256',
  },
  async run(values, positionals) {
    const [file, ...rest] = positionals;
    if (file === undefined || rest.length > 0) {
      throw new EngineError('bad_request', `complete takes one FILE, got ${positionals.length}`);
    }
    const text = readText(file);
    const offset = offsetOf(text, values.string('at'), file);
    const multiline = values.oneOf('multiline', MULTILINE_MODES, 'auto');
    const maxTokens = values.integer('max-tokens', 256, { min: 1, max: 2048 });
    const request = requestAt(file, text, offset, { multiline, maxTokens });
    return withEngine(
      values,
      async (engine) => {
        const result = await completeAt(engine, request, { signal: interruptSignal() });
        if (values.flag('json')) printJson(result);
        else {
          print(`${result.text}\n`);
          const { totalMs, prefillMs, decodeMs } = result.timings;
          const why = result.reason === null ? '' : `nothing to show: ${result.reason}; `;
          process.stderr.write(
            `${why}${ms(totalMs)} (prompt ${result.promptTokens} tokens ${ms(prefillMs)}, ` +
              `answer ${result.generatedTokens} tokens ${ms(decodeMs)}; model load ${ms(engine.info.loadMs)})\n`,
          );
        }
        return EXIT.ok;
      },
      'when idle',
    );
  },
};

/** A request as the editor makes it, for text that is not in an editor. */
export function requestAt(
  path: string,
  text: string,
  offset: number,
  options: Pick<CompletionRequest, 'multiline' | 'maxTokens'>,
): CompletionRequest {
  const indented = /^( +|\t+)\S/m.exec(text)?.[1];
  return {
    path: relative(process.cwd(), path) || path,
    languageId: extname(path).slice(1),
    prefix: text.slice(0, offset),
    prefixLine: 0,
    suffix: text.slice(offset),
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    tabSize: 4,
    insertSpaces: indented?.startsWith('\t') !== true,
    ...options,
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new EngineError('bad_request', `${file}: cannot be read (${code})`);
  }
}

/** Offset of `LINE:COL`, both from 1; one past the end of a line is its end. */
function offsetOf(text: string, at: string | undefined, file: string): number {
  if (at === undefined) return text.length;
  const [, line, column] = /^(\d+):(\d+)$/.exec(at)?.map(Number) ?? [];
  if (line === undefined || column === undefined || line < 1 || column < 1) {
    throw new EngineError(
      'bad_request',
      `--at ${at}: expected LINE:COL, both from 1, such as 12:5`,
    );
  }
  const lines = text.split('\n');
  const chosen = lines[line - 1];
  if (chosen === undefined) {
    throw new EngineError('bad_request', `--at ${at}: ${file} has ${lines.length} lines`);
  }
  const length = chosen.endsWith('\r') ? chosen.length - 1 : chosen.length;
  if (column - 1 > length) {
    throw new EngineError(
      'bad_request',
      `--at ${at}: line ${line} of ${file} has ${length} columns`,
    );
  }
  const start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  return start + column - 1;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}
