import { writeFileSync } from 'node:fs';
import { arch, cpus, freemem, homedir, platform, release, totalmem, version } from 'node:os';
import type { SelfTest } from '../backend/addon';
import { metalDevice } from '../backend/metal_device';
import { loadNativeBackend } from '../backend/native';
import { createReferenceBackend } from '../backend/reference';
import type { EngineOptions } from '../engine_options';
import { loadEngine } from '../load_engine';
import { EngineError } from '../errors';
import { GREEDY } from '../generation/types';
import { resolveModel } from '../loading/model_dir';
import { EXIT } from './exit_codes';
import { printJson } from './load';
import type { Command } from './options';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

export const doctor: Command = {
  name: 'doctor',
  usage: '',
  summary:
    'Checks this installation: machine, backends, the built-in model on each of them, and a model of yours.',
  options: { model: { type: 'string' }, json: { type: 'boolean' }, report: { type: 'string' } },
  help: {
    model: 'also check this one: FOLDER, FILE.gguf, or a name that anllm models prints',
    json: 'print one JSON object',
    report: 'also write what was found to this file, to go with a bug report',
  },
  async run(values) {
    const model = values.string('model');
    const gpu = metal();
    const checks = [
      machine(),
      nativeAddon(),
      ...gpu,
      ...(await builtInModel(gpu[0]?.ok === true)),
      ...(model === undefined ? [] : [await ownModel(model)]),
    ];
    const report = values.string('report');
    if (report !== undefined) writeReport(report, checks);
    if (values.flag('json')) printJson({ ok: checks.every((c) => c.ok), checks });
    else {
      for (const c of checks)
        process.stdout.write(`${c.ok ? 'ok  ' : 'FAIL'} ${c.name}: ${c.detail}\n`);
    }
    return checks.every((c) => c.ok) ? EXIT.ok : EXIT.failed;
  },
};

/** All that was found, without the name of the user's folder. */
function writeReport(file: string, checks: readonly Check[]): void {
  const found = { written: new Date().toISOString(), system: version(), checks };
  const text = `${JSON.stringify(found, null, 2)}\n`.replaceAll(homedir(), '~');
  try {
    writeFileSync(file, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError('bad_request', `--report ${file}: ${why}`, { cause: error });
  }
}

function machine(): Check {
  const memory = `${gib(totalmem())} GiB memory, ${gib(freemem())} free`;
  const cpu = `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;
  return {
    name: 'machine',
    ok: true,
    detail: `${platform()} ${release()} ${arch()}, ${cpu}, ${memory}, node ${process.version}`,
  };
}

function nativeAddon(): Check {
  try {
    return { name: 'cpu backend', ok: true, detail: loadNativeBackend().description };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      name: 'cpu backend',
      ok: false,
      detail: `${why}; the slow reference backend serves instead`,
    };
  }
}

/** What happens where a part of the self-test fails. */
const WITHOUT: Readonly<Record<SelfTest['scope'], string>> = {
  all: '',
  drawing: '; tokens are drawn on the CPU',
  kv8: '; kv-bits 8 runs on the CPU',
};

/** The GPU and each part of its self-test; nothing where no such device is expected. */
function metal(): Check[] {
  const name = 'metal backend';
  const fallback = 'the cpu backend serves instead';
  try {
    const device = metalDevice({ again: true });
    if (device === null)
      return platform() === 'darwin' ? [{ name, ok: false, detail: `no device; ${fallback}` }] : [];
    const tests = device.selfTest.map(({ name: part, error, failure, isGood, scope }) => ({
      name: `metal self-test, ${part}`,
      ok: isGood,
      detail:
        (failure === '' ? `off by ${error.toExponential(1)}` : failure) +
        (isGood ? '' : WITHOUT[scope]),
    }));
    const ok = device.selfTest.every(({ isGood, scope }) => isGood || scope !== 'all');
    return [{ name, ok, detail: ok ? device.name : `${device.name}; ${fallback}` }, ...tests];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ name, ok: false, detail: `${why}; ${fallback}` }];
  }
}

/** The built-in model must continue a line alike on every backend that loads. */
async function builtInModel(hasMetal: boolean): Promise<Check[]> {
  const onMetal = hasMetal ? (['metal'] as const) : [];
  const backends = [createReferenceBackend().name, 'cpu', ...onMetal] as const;
  const checks: Check[] = [];
  let expected: string | null = null;
  for (const backend of backends) {
    const options = { backend, precision: 'exact', threads: 0 } as const;
    const check = await continuesLine(`built-in model on ${backend}`, '', options, (text) => {
      expected ??= text;
      return text === expected;
    });
    checks.push(check);
  }
  return checks;
}

/** A model of the user's must load, and continue a line with something. */
function ownModel(model: string): Promise<Check> {
  const options = { backend: 'auto', precision: 'fast', threads: 0 } as const;
  return continuesLine(model, model, options, Boolean);
}

async function continuesLine(
  name: string,
  model: string,
  options: Omit<EngineOptions, 'modelDir'>,
  isRight: (text: string) => boolean,
): Promise<Check> {
  try {
    const engine = await loadEngine({ ...options, modelDir: resolveModel(model) });
    const { tokenizer, info } = engine;
    const ids = [...tokenizer.prefixIds, ...tokenizer.encode('for (let i = 0; i < 10')];
    const request = { ids, maxTokens: 4, sampling: GREEDY, stop: [] };
    const { text, timings } = await engine.generate(request);
    await engine.dispose();
    const speed = `${((timings.prefillMs + timings.decodeMs) / (ids.length + 4)).toFixed(1)} ms a token`;
    const detail = `${JSON.stringify(text)} on ${info.backendDescription}, loaded in ${info.loadMs.toFixed(0)} ms, ${speed}`;
    return { name, ok: isRight(text), detail };
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}
