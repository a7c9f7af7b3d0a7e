import { EngineError } from '../errors';
import type { Engine } from '../engine';
import { EXIT } from './exit_codes';
import { GRAMMAR_HELP, GRAMMAR_OPTIONS, grammarOption } from './grammar';
import { interruptSignal, printJson, withEngine } from './load';
import { ENGINE_HELP, ENGINE_OPTIONS, type Command } from './options';
import { SAMPLING_HELP, SAMPLING_OPTIONS, samplingParams } from './sampling';
import { print } from './terminal';

export const run: Command = {
  name: 'run',
  usage: '"TEXT"',
  summary:
    'Answers a prompt: through the chat template when the model has one, else as plain text to continue.',
  options: {
    ...ENGINE_OPTIONS,
    ...SAMPLING_OPTIONS,
    ...GRAMMAR_OPTIONS,
    system: { type: 'string' },
    raw: { type: 'boolean' },
  },
  help: {
    ...ENGINE_HELP,
    ...SAMPLING_HELP,
    ...GRAMMAR_HELP,
    system: 'system message',
    raw: 'continue the text as it is, without the chat template',
  },
  async run(values, positionals) {
    const text = await promptText(positionals);
    const json = values.flag('json');
    const grammar = grammarOption(values);
    return withEngine(
      values,
      async (engine) => {
        const ids = promptIds(engine, text, values.string('system'), values.flag('raw'));
        const maxTokens = values.integer('max-tokens', 512, { min: 1, max: 2 ** 20 });
        const result = await engine.generate({
          ids,
          maxTokens,
          sampling: samplingParams(values, engine.generationConfig),
          stop: values.strings('stop'),
          signal: interruptSignal(),
          priority: 'chat',
          ...(grammar === undefined ? {} : { grammar }),
          onText: (delta) => {
            if (!json) print(delta);
            return true;
          },
        });
        if (json) printJson({ ...result, model: engine.info.title, backend: engine.info.backend });
        else print('\n');
        return result.finishReason === 'cancelled' ? EXIT.interrupted : EXIT.ok;
      },
      'when idle',
    );
  },
};

function promptIds(
  engine: Engine,
  text: string,
  system: string | undefined,
  raw: boolean,
): number[] {
  const { chat, tokenizer } = engine;
  if (raw || chat === null) {
    if (system !== undefined) {
      throw new EngineError(
        'bad_request',
        '--system needs a model with a chat template, and no --raw',
      );
    }
    return [...tokenizer.prefixIds, ...tokenizer.encode(text)];
  }
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user' as const, content: text },
  ];
  return chat.encode(messages, { addGenerationPrompt: true });
}

/** The one positional argument; `-` reads standard input. */
async function promptText(positionals: readonly string[]): Promise<string> {
  const [text, ...rest] = positionals;
  if (text === undefined || rest.length > 0) {
    throw new EngineError(
      'bad_request',
      `run takes one TEXT, got ${positionals.length}; quote it, or give - for stdin`,
    );
  }
  if (text !== '-') return text;
  let input = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin) input += String(chunk);
  return input;
}
