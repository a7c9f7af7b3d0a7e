import { writeFileSync } from 'node:fs';
import { EngineError } from '../../errors';
import type { Engine } from '../../engine';
import { Endpoint } from '../../remote/endpoint';
import { findModel } from '../../remote/probe';
import { HttpServer } from '../../server/server';
import { newToken } from '../../server/token';
import { EXIT } from '../exit_codes';
import { printJson, withEngine } from '../load';
import type { OptionReader, OptionSpecs } from '../options';
import { closedLoop, openLoop, type Work } from './load';
import { plot } from './plot';
import { type LoadReport, reportOf } from './report';
import { table } from './table';

export const SERVE_OPTIONS: OptionSpecs = {
  url: { type: 'string' },
  token: { type: 'string' },
  concurrency: { type: 'string' },
  rate: { type: 'string' },
  requests: { type: 'string' },
  'max-tokens': { type: 'string' },
  plot: { type: 'string' },
};

export const SERVE_HELP: Readonly<Record<string, string>> = {
  url: 'bench serve: a server that runs already, by its address; default: one is started',
  token: 'bench serve: the API key of --url',
  concurrency: 'bench serve: clients that always wait for an answer; default 1,2,4,8,16,32',
  rate: 'bench serve: instead, so many requests a second at random times, such as 1,5,20',
  requests: 'bench serve: requests of each load; default 4 a client, at least 16',
  'max-tokens': 'bench serve: tokens of an answer; default 64',
  plot: 'bench serve: an SVG file to write',
};

/** Throughput and latency of a server under load, closed or open. */
export async function benchServe(values: OptionReader): Promise<number> {
  const url = values.string('url');
  const reports =
    url === undefined
      ? await withEngine(values, (engine) => withServer(engine, (e) => measure(e, values)))
      : await measure(new Endpoint({ url, apiKey: values.string('token') ?? '' }), values);
  const file = values.string('plot');
  if (file !== undefined) writeFileSync(file, plot('anllm bench serve', reports));
  if (values.flag('json')) printJson({ loads: reports });
  else process.stdout.write(table(reports));
  return EXIT.ok;
}

async function withServer<T>(engine: Engine, use: (endpoint: Endpoint) => Promise<T>): Promise<T> {
  const token = newToken();
  const model = { id: 'model', created: 0, state: 'ready', loaded: engine } as const;
  const server = await HttpServer.start({
    models: [{ ...model, use: (task) => task(engine) }],
    token,
    port: 0,
    version: '',
    log: () => undefined,
  });
  try {
    return await use(new Endpoint({ url: server.url, apiKey: token }));
  } finally {
    await server.close();
  }
}

async function measure(endpoint: Endpoint, values: OptionReader): Promise<LoadReport[]> {
  const { name } = await findModel(endpoint, values.string('model') ?? '');
  const maxTokens = values.integer('max-tokens', 64, { min: 1, max: 4096 });
  const rates = numbers(values, 'rate');
  const isOpen = rates.length > 0;
  const clients = numbers(values, 'concurrency');
  if (isOpen && clients.length > 0) {
    throw new EngineError('bad_request', 'give --concurrency or --rate, not both');
  }
  const reports: LoadReport[] = [];
  for (const size of isOpen ? rates : clients.length > 0 ? clients : [1, 2, 4, 8, 16, 32]) {
    const requests = values.integer('requests', Math.max(16, Math.ceil(4 * size)), {
      min: 1,
      max: 1e6,
    });
    const load = isOpen ? `${size}/s` : `${size}`;
    const work: Work = {
      endpoint,
      model: name,
      maxTokens,
      prompt: (index) => promptOf(load, index),
    };
    const samples = isOpen
      ? await openLoop(work, size, requests, Math.random)
      : await closedLoop(work, size, requests);
    reports.push(reportOf(load, samples));
    process.stderr.write(`${load}: ${requests} requests\n`);
  }
  return reports;
}

function numbers(values: OptionReader, name: string): number[] {
  const text = values.string(name);
  if (text === undefined) return [];
  const list = text.split(',').map(Number);
  const isFine = (n: number) => n > 0 && n <= 1024 && (name === 'rate' || Number.isInteger(n));
  if (list.every(isFine)) return list;
  throw new EngineError('bad_request', `--${name} ${text}: expected numbers like 1,4,16`);
}

/** Some hundred tokens of code, another one for each request from its first line on. */
function promptOf(load: string, index: number): string {
  const lines = Array.from(
    { length: 12 },
    (_, i) =>
      `export function item${i}(list: readonly number[]): number {\n  return list[${i}] ?? 0;\n}\n`,
  );
  return `// ${load} ${index}\n${lines.join('\n')}\nexport function `;
}
