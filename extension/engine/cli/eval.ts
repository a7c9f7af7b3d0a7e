import { readFileSync } from 'node:fs';
import { complete as completeAt } from '../completion/complete';
import { EngineError } from '../errors';
import { editSimilarity, quantile } from '../statistics';
import { requestAt } from './complete';
import { EXIT } from './exit_codes';
import { interruptSignal, printJson, withEngine } from './load';
import { ENGINE_HELP, ENGINE_OPTIONS, type Command } from './options';

interface Case {
  readonly path: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly expected: string;
}

export const evaluate: Command = {
  name: 'eval',
  usage: 'CASES.jsonl',
  summary:
    'Completes every case {path, prefix, suffix, expected} and scores the first line: exact (trailing blanks aside) and edit similarity.',
  options: { ...ENGINE_OPTIONS, limit: { type: 'string' }, 'no-heal': { type: 'boolean' } },
  help: {
    ...ENGINE_HELP,
    limit: 'only the first N cases',
    'no-heal': 'without token healing at the cursor',
  },
  async run(values, positionals) {
    const [file, ...rest] = positionals;
    if (file === undefined || rest.length > 0) {
      throw new EngineError('bad_request', `eval takes one CASES.jsonl, got ${positionals.length}`);
    }
    const limit = values.integer('limit', Number.MAX_SAFE_INTEGER, {
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
    });
    const cases = readCases(file).slice(0, limit);
    const signal = interruptSignal();
    const heal = !values.flag('no-heal');
    return withEngine(values, async (engine) => {
      const scores: { exact: boolean; similarity: number; ms: number }[] = [];
      for (const c of cases) {
        if (signal.aborted) break;
        const request = requestAt(c.path, c.prefix + c.suffix, c.prefix.length, {
          multiline: 'never',
          maxTokens: 96,
        });
        const result = await completeAt(engine, { ...request, path: c.path }, { signal, heal });
        const answer = firstLine(result.text);
        const expected = firstLine(c.expected);
        scores.push({
          exact: answer === expected,
          similarity: editSimilarity(answer, expected),
          ms: result.timings.totalMs,
        });
        if (scores.length % 50 === 0) process.stderr.write(`${scores.length} of ${cases.length}\n`);
      }
      const n = scores.length;
      const report = {
        n,
        exact: scores.filter((s) => s.exact).length / n,
        edit_similarity: scores.reduce((sum, s) => sum + s.similarity, 0) / n,
        p50_ms: quantile(
          scores.map((s) => s.ms),
          0.5,
        ),
        p95_ms: quantile(
          scores.map((s) => s.ms),
          0.95,
        ),
        backend: engine.info.backend,
        model: engine.info.title,
      };
      if (values.flag('json')) printJson(report);
      else {
        process.stdout.write(
          `${n} cases: exact ${(report.exact * 100).toFixed(1)} %, edit similarity ` +
            `${report.edit_similarity.toFixed(3)}, p50 ${report.p50_ms.toFixed(1)} ms, p95 ${report.p95_ms.toFixed(1)} ms\n`,
        );
      }
      return signal.aborted ? EXIT.interrupted : EXIT.ok;
    });
  },
};

function firstLine(text: string): string {
  return (text.split(/\r?\n/, 1)[0] ?? '').trimEnd();
}

function readCases(file: string): Case[] {
  let lines: string[];
  try {
    lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '');
  } catch (error) {
    throw new EngineError('bad_request', `${file}: cannot be read`, { cause: error });
  }
  if (lines.length === 0) throw new EngineError('bad_request', `${file}: no cases`);
  return lines.map((line, i) => {
    const bad = (why: string) => new EngineError('bad_request', `${file}:${i + 1}: ${why}`);
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw bad('not a line of JSON');
    }
    if (!isCase(value)) throw bad('expected strings path, prefix, suffix and expected');
    return value;
  });
}

function isCase(value: unknown): value is Case {
  if (typeof value !== 'object' || value === null) return false;
  const fields = new Map(Object.entries(value));
  return ['path', 'prefix', 'suffix', 'expected'].every(
    (key) => typeof fields.get(key) === 'string',
  );
}
