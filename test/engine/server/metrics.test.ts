import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startLab } from './lab';
import { ScriptedEngine, served } from './scripted';

/** A line of Prometheus' text format. */
const LINE =
  /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="([^"\\\n]|\\["\\n])*"(,\w+="([^"\\\n]|\\["\\n])*")*\})? [-+.\deE]+)$/;

describe('metrics', () => {
  test('count requests, tokens and times, in lines that Prometheus reads', async () => {
    const lab = await startLab([served(new ScriptedEngine({ text: 'a b c' }), 'toy')]);
    await (await lab.fetch('/v1/completions', { model: 'toy', prompt: 'x' })).text();
    await (await lab.fetch('/v1/completions', { model: 'toy', prompt: 'x', stream: true })).text();
    await lab.fetch('/v1/completions', { model: 'toy' });
    for (let i = 0; i < 30; i++) await lab.fetch(`/nothing/${i}`);
    const answer = await lab.fetch('/metrics');
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    const text = await answer.text();
    for (const line of text.trimEnd().split('\n')) assert.match(line, LINE);
    const value = (name: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    assert.equal(value('anllm_http_requests_total{route="/v1/completions",status="200"}'), 2);
    assert.equal(value('anllm_http_requests_total{route="/v1/completions",status="400"}'), 1);
    assert.equal(value('anllm_http_requests_total{route="other",status="404"}'), 30);
    assert.equal(value('anllm_prompt_tokens_total'), 2);
    assert.equal(value('anllm_time_to_first_token_seconds_count'), 2);
    assert.ok(value('anllm_completion_tokens_total') >= 6);
    assert.doesNotMatch(text, /nothing/);
    await lab.server.close();
  });

  test('escape what they do not choose themselves', async () => {
    const engine = new ScriptedEngine({ text: 'x' });
    const counts = { running: 1, waiting: 0, blocks: 2 } as never;
    Object.assign(engine, { metrics: () => counts });
    const lab = await startLab([served(engine, 'a"b\\c\nd')]);
    const text = await (await lab.fetch('/metrics')).text();
    assert.match(text, /anllm_engine_requests_running\{model="a\\"b\\\\c\\nd"\} 1\n/);
    await lab.server.close();
  });
});
