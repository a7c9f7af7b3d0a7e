import { isIP } from 'node:net';
import type { Engine } from '../engine';
import { EngineError } from '../errors';
import type { ServedModel } from '../server/engine';
import { modelIds } from '../server/model_id';
import { DEFAULT_PORT, HttpServer } from '../server/server';
import { newToken } from '../server/token';
import { packageVersion } from '../server/version';
import { resolveModel } from '../loading/model_dir';
import { EXIT } from './exit_codes';
import { engineOptionsFor, loadWithWarnings, printJson } from './load';
import { ENGINE_HELP, ENGINE_OPTIONS, type Command, type OptionReader } from './options';
import { say } from './terminal';

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

export const serve: Command = {
  name: 'serve',
  usage: '',
  summary: 'An OpenAI-compatible server on this machine (docs/server.md). Ctrl+C ends it.',
  options: {
    ...ENGINE_OPTIONS,
    model: { type: 'string', multiple: true },
    host: { type: 'string' },
    port: { type: 'string' },
    token: { type: 'string' },
    'allow-network': { type: 'boolean' },
    'allow-host': { type: 'string', multiple: true },
    'allow-origin': { type: 'string', multiple: true },
  },
  help: {
    ...ENGINE_HELP,
    model: 'as elsewhere; may be given more than once, the first serves requests that name none',
    host: 'address to listen on; default 127.0.0.1',
    port: `port; default ${DEFAULT_PORT}; one that is taken is replaced by a free one; 0 = any`,
    token: 'what clients send as API key; default: $ANLLM_TOKEN, else a new one, which is shown',
    'allow-network': 'needed for a --host that other machines reach',
    'allow-host': 'a name that clients call this machine by',
    'allow-origin': 'a web page that may use the server, such as http://localhost:3000',
    json: 'print {url, port, token, models} as JSON when the server is ready',
  },
  async run(values) {
    const host = hostOf(values);
    const given = values.string('token') ?? process.env['ANLLM_TOKEN'];
    const token = given ?? newToken();
    const port = values.integer('port', DEFAULT_PORT, { min: 0, max: 65_535 });
    const models = await loadModels(values);
    try {
      const server = await HttpServer.start({
        models: models.map(({ served }) => served),
        token,
        host,
        port,
        hostNames: values.strings('allow-host'),
        origins: values.strings('allow-origin'),
        version: packageVersion(),
        log: (level, message) => say(`${level} ${message}\n`),
      });
      announce(server, token, given === undefined, values, models);
      await interrupted();
      await server.close();
    } finally {
      for (const { engine } of models) await engine.dispose();
    }
    return EXIT.ok;
  },
};

function hostOf(values: OptionReader): string {
  const host = values.string('host') ?? '127.0.0.1';
  if (LOOPBACK.has(host)) return host;
  if (isIP(host) === 0)
    throw new EngineError('bad_request', `--host ${host}: expected an IP address`);
  if (!values.flag('allow-network')) {
    throw new EngineError(
      'bad_request',
      `--host ${host}: other machines reach this address; say so with --allow-network`,
    );
  }
  if (values.string('token') === undefined && !process.env['ANLLM_TOKEN']) {
    throw new EngineError(
      'bad_request',
      `--host ${host}: needs a --token that you choose, or $ANLLM_TOKEN`,
    );
  }
  return host;
}

interface Loaded {
  readonly engine: Engine;
  readonly served: ServedModel;
}

async function loadModels(values: OptionReader): Promise<Loaded[]> {
  const names = values.strings('model');
  const paths = (names.length === 0 ? [undefined] : names).map((name) => resolveModel(name));
  const ids = modelIds(paths);
  const loaded: Loaded[] = [];
  for (const [i, path] of paths.entries()) {
    const engine = await loadWithWarnings(engineOptionsFor(values, path));
    const { title, backendDescription, loadMs } = engine.info;
    say(`loaded ${title} in ${loadMs.toFixed(0)} ms: ${backendDescription}\n`);
    loaded.push({ engine, served: alwaysLoaded(engine, ids[i] ?? path) });
  }
  return loaded;
}

function alwaysLoaded(engine: Engine, id: string): ServedModel {
  const created = Math.floor(Date.now() / 1000);
  return { id, created, state: 'ready', loaded: engine, use: (task) => task(engine) };
}

function announce(
  server: HttpServer,
  token: string,
  isNew: boolean,
  values: OptionReader,
  models: readonly Loaded[],
): void {
  const ids = models.map(({ served }) => served.id);
  if (values.flag('json')) {
    printJson({ url: server.url, port: server.port, token, models: ids });
    return;
  }
  const shown = isNew ? token : 'the one that you gave';
  process.stdout.write(
    `anllm serves ${ids.join(', ')}\n\n  base URL  ${server.url}\n  API key   ${shown}\n`,
  );
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
