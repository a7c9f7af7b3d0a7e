import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { root } from '../../../scripts/lib/process.mjs';

const TOKEN = 'cli-token-0123456789abcdef';

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const cli = join(root, 'extension/engine/cli.ts');
  return spawn(process.execPath, ['--import', 'tsx', cli, 'serve', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

interface Ready {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly models: readonly string[];
}

describe('anllm serve', () => {
  let child: ChildProcess;
  let ready: Ready;
  let client: OpenAI;

  before(async () => {
    child = start(['--json', '--port', '0', '--context', '1024'], { ANLLM_TOKEN: TOKEN });
    let output = '';
    while (!output.trimEnd().endsWith('}')) {
      const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer];
      output += chunk.toString();
    }
    ready = JSON.parse(output) as Ready;
    client = new OpenAI({ baseURL: ready.url, apiKey: ready.token });
  });
  after(() => child.kill('SIGKILL'));

  test('says where it is, and lists the built-in model', async () => {
    assert.equal(new URL(ready.url).hostname, '127.0.0.1');
    assert.equal(ready.token, TOKEN);
    assert.deepEqual(ready.models, ['sprout']);
    const models = await client.models.list();
    assert.deepEqual(
      models.data.map(({ id, object }) => [id, object]),
      [['sprout', 'model']],
    );
    assert.equal((await client.models.retrieve('sprout')).owned_by, 'local');
  });

  test('completes through the official client, streamed or not, greedy and alike', async () => {
    const params = {
      model: 'sprout',
      prompt: 'def add(a, b):\n    return',
      max_tokens: 12,
      temperature: 0,
    };
    const whole = await client.completions.create(params);
    const text = whole.choices[0]?.text ?? '';
    assert.match(text, /^ a/);
    assert.equal(whole.usage?.completion_tokens, 12);
    let streamed = '';
    for await (const part of await client.completions.create({ ...params, stream: true })) {
      streamed += part.choices[0]?.text ?? '';
    }
    assert.equal(streamed, text);
  });

  test('fills a gap', async () => {
    const answer = await client.completions.create({
      model: 'sprout',
      prompt: 'def add(a, b):\n    return',
      suffix: '\n\ndef sub(a, b):\n    return a - b\n',
      max_tokens: 8,
      temperature: 0,
    });
    assert.match(answer.choices[0]?.text ?? '', /^ a \+ b/);
  });

  test('the same seed gives the same answers, n of them differ', async () => {
    const ask = () =>
      client.completions.create({
        model: 'sprout',
        prompt: 'import ',
        max_tokens: 16,
        temperature: 1.5,
        seed: 11,
        n: 4,
      });
    const texts = (await ask()).choices.map(({ text }) => text);
    assert.deepEqual(
      (await ask()).choices.map(({ text }) => text),
      texts,
    );
    assert.ok(new Set(texts).size > 1);
  });

  test('scores a prompt: its tokens join to the text, the likely ones are likely', async () => {
    const answer = await client.completions.create({
      model: 'sprout',
      prompt: 'for i in range(10):',
      echo: true,
      logprobs: 3,
      max_tokens: 0,
    });
    const { logprobs, text } = answer.choices[0] ?? {};
    assert.equal(text, 'for i in range(10):');
    assert.equal(logprobs?.tokens?.join(''), text);
    const at = logprobs?.tokens?.indexOf(' range') ?? -1;
    const range = logprobs?.token_logprobs?.[at] ?? -Infinity;
    assert.ok(range <= 0 && range > -1.5, `log probability ${range}`);
  });

  test('ends at once when it is told to, though a stream is open', async () => {
    const stream = await client.completions.create(
      { model: 'sprout', prompt: 'x = [', max_tokens: 900, temperature: 1, stream: true },
      { maxRetries: 0 },
    );
    const started = performance.now();
    let failure: unknown = null;
    try {
      for await (const part of stream)
        if (part.choices.length > 0 && failure === null) failure = child.kill('SIGTERM');
    } catch (error) {
      failure = error;
    }
    assert.ok(failure instanceof OpenAI.APIError, String(failure));
    assert.equal(failure.code, 'shutting_down');
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
    assert.ok(performance.now() - started < 5000);
  });
});

describe('anllm serve refuses', () => {
  const refused = async (args: readonly string[], expected: RegExp) => {
    const child = start(args);
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    await once(child, 'close');
    assert.equal(child.exitCode, 2);
    assert.match(errors, expected);
  };

  test('an address that others reach, unless it is said and has a token', async () => {
    await refused(['--host', '0.0.0.0'], /--allow-network/);
    await refused(['--host', '0.0.0.0', '--allow-network'], /needs a --token/);
  });

  test('a token that can be guessed, and a port that is none', async () => {
    await refused(['--token', 'abc'], /token of 3 characters/);
    await refused(['--port', '99999'], /--port 99999: expected a whole number from 0 to 65535/);
  });
});
