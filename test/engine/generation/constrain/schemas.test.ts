import assert from 'node:assert/strict';
import { test } from 'node:test';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { Grammars } from '../../../../extension/engine/generation/constrain/grammars';
import { Random } from '../scheduler/random';
import { byteTokenizer, EOS, randomText, VOCAB_SIZE } from './byte_vocabulary';
import { randomSchema } from './random_schema';

const SCHEMAS = 300;
const grammars = new Grammars({ tokenizer: byteTokenizer, eosIds: [EOS], vocabSize: VOCAB_SIZE });

test('whatever the model says, the answer is valid by the schema, and ends by itself', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  for (let seed = 0; seed < SCHEMAS; seed++) {
    const schema = randomSchema(new Random(seed));
    const text = randomText(grammars, { type: 'json_schema', schema }, seed);
    const told = `schema ${seed}: ${JSON.stringify(schema)}: ${text}`;
    assert.ok(text !== null, told);
    const validate = ajv.compile(schema);
    assert.ok(validate(JSON.parse(text)), `${told}: ${ajv.errorsText(validate.errors)}`);
  }
});
