import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as l10n from '@vscode/l10n';

/** One request over the network. */
export interface NetworkEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly host: string;
  /** What was asked for, in words, with the repository. */
  readonly purpose: string;
  /** What came of it: an HTTP status, or why there was no answer. */
  readonly result: string;
  readonly receivedBytes: number;
}

/** Thousands of entries; then the older half goes. */
const MAX_BYTES = 1_000_000;

/**
 * Every request that the extension sends over the network, in a file of one JSON line each that windows share. The
 * requests to `anllm.remote.url` are the engine's own and not in it.
 */
export class NetworkLog {
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly file: string) {}

  /** Oldest first; what cannot be read is left out. */
  async entries(): Promise<NetworkEntry[]> {
    await this.writing;
    const text = await readFile(this.file, 'utf8').catch(() => '');
    return text.split('\n').flatMap((line) => {
      const entry = entryOf(line);
      return entry === null ? [] : [entry];
    });
  }

  /** A fetch that records what it does, also when it fails, with the bytes of the body as they come. */
  recorded(purpose: string, send: typeof fetch): typeof fetch {
    return async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const time = new Date().toISOString();
      const record = (result: string, receivedBytes: number): Promise<void> =>
        this.add({ time, host: url.host, purpose, result, receivedBytes });
      let response: Response;
      try {
        response = await send(input, init);
      } catch (error) {
        await record(l10n.t('no answer ({cause})', { cause: nameOf(error) }), 0);
        throw error;
      }
      const status = statusLine(response.status, url, response.url);
      if (response.body === null) {
        await record(status, 0);
        return response;
      }
      return counted(response, response.body, (bytes, isWhole) =>
        record(isWhole ? status : l10n.t('{status}, broken off', { status }), bytes),
      );
    };
  }

  private add(entry: NetworkEntry): Promise<void> {
    // A disk that takes no more lines must not end a download.
    this.writing = this.writing.then(() => this.append(entry)).catch(() => undefined);
    return this.writing;
  }

  private async append(entry: NetworkEntry): Promise<void> {
    await mkdir(dirname(this.file), { recursive: true });
    await appendFile(this.file, `${JSON.stringify(entry)}\n`);
    if ((await stat(this.file)).size <= MAX_BYTES) return;
    const text = await readFile(this.file, 'utf8');
    await writeFile(this.file, text.slice(text.indexOf('\n', text.length / 2) + 1));
  }
}

/** The same answer; `done` is told once, when the body has come or was given up. */
function counted(
  response: Response,
  body: ReadableStream<Uint8Array>,
  done: (bytes: number, isWhole: boolean) => Promise<void>,
): Response {
  const reader = body.getReader();
  let bytes = 0;
  const counting = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done: isEnd } = await reader.read();
        if (isEnd) {
          await done(bytes, true);
          controller.close();
        } else {
          bytes += value.byteLength;
          controller.enqueue(value);
        }
      } catch (error) {
        await done(bytes, false);
        controller.error(error);
      }
    },
    async cancel(reason) {
      await done(bytes, false);
      await reader.cancel(reason);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(counting, { status, statusText, headers });
}

/** Hubs send large files from another host. */
function statusLine(status: number, { host }: URL, final: string): string {
  const other = final === '' ? host : new URL(final).host;
  return other === host
    ? `HTTP ${status}`
    : l10n.t('HTTP {status}, from {other}', { status, other });
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.code ?? error.name;
}

function entryOf(line: string): NetworkEntry | null {
  try {
    const { time, host, purpose, result, receivedBytes } = JSON.parse(line) as NetworkEntry;
    const isWhole = [time, host, purpose, result].every((text) => typeof text === 'string');
    return isWhole && typeof receivedBytes === 'number'
      ? { time, host, purpose, result, receivedBytes }
      : null;
  } catch {
    return null;
  }
}
