import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, tokenize } from '@huggingface/jinja';
import { formatTime, renderTemplate } from '../../../extension/engine/loading/jinja_sandbox';

const render = (source: string, variables: Record<string, unknown> = {}) =>
  renderTemplate(parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })), variables);

test('loops, texts and nesting without end are stopped', () => {
  const bombs: [string, RegExp][] = [
    ['{% for i in range(10**9) %}x{% endfor %}', /range of 1000000000 elements/],
    [`{% for i in range(9999) %}${'{{ 1 }}'.repeat(400)}{% endfor %}`, /more than \d+ (steps|ms)/],
    [`{% set s = 'aaaaaaaa' %}${'{% set s = s ~ s %}'.repeat(40)}{{ s }}`, /a text too long/],
    ['{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}', /nested too deeply/],
    [`{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}`, /./],
  ];
  for (const [source, problem] of bombs)
    assert.throws(() => render(source), problem, source.slice(0, 60));
});

test('there is no way to JavaScript’s own objects', () => {
  const attempts = [
    "{{ ''.__class__ }}",
    '{{ self }}',
    '{{ messages.constructor }}',
    '{{ messages.__proto__ }}',
    '{{ cycler }}',
    '{{ ({}).constructor }}',
  ];
  for (const source of attempts) {
    let text = '';
    try {
      text = render(source, { messages: [{ role: 'user' }] });
    } catch {
      continue; // an error is as good
    }
    assert.equal(text, '', source);
  }
  assert.throws(() => render("{{ messages.constructor('return 1')() }}", { messages: [] }));
});

test('range and dates as Python has them', () => {
  assert.equal(render('{% for i in range(3) %}{{ i }}{% endfor %}'), '012');
  assert.equal(render('{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}'), '531');
  assert.equal(
    formatTime(new Date(2024, 6, 5, 3, 4, 9), '%d %b %Y %B %y-%m %H:%M:%S %A %a 100%%'),
    '05 Jul 2024 July 24-07 03:04:09 Friday Fri 100%',
  );
});
