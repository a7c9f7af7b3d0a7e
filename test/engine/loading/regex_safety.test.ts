import assert from 'node:assert/strict';
import { test } from 'node:test';
import { regexRisk } from '../../../extension/engine/loading/regex_safety';

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";

test('the patterns of known models are taken', () => {
  const known = {
    gpt2: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    qwen2: `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    llama3: `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    gptOss:
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    deepseek:
      '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
    bloom: ' ?[^(\\s|[.,!?…。，、।۔،])]+',
    digits: '\\d{1,3}(?=(?:\\d{3})*\\b)',
  };
  for (const [name, pattern] of Object.entries(known)) assert.equal(regexRisk(pattern), null, name);
});

test('repetitions of repetitions and of alternatives are refused', () => {
  const risky = [
    '(a+)+$',
    '(a*)*',
    '(?:a|aa)+',
    '((ab?)*c)+',
    '(x+x+)+y',
    '(a+){2,}',
    '\\s*\\s*\\s*\\s*x',
    '(a',
    'a)',
  ];
  for (const pattern of risky) assert.notEqual(regexRisk(pattern), null, pattern);
});
