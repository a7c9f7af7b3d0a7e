import { supportedModelTypes } from '../core/models/registry';
import { listModels } from '../loading/model_list';
import { EXIT } from './exit_codes';
import { printJson } from './load';
import type { Command } from './options';
import { print } from './terminal';

export const models: Command = {
  name: 'models',
  usage: '',
  summary:
    'The models on this machine: built in, in the Hugging Face cache, in the folders of LM Studio and Ollama.',
  options: { json: { type: 'boolean' } },
  help: { json: 'print one JSON object' },
  run(values) {
    const found = listModels(supportedModelTypes());
    if (values.flag('json')) printJson({ models: found });
    else {
      for (const m of found) {
        const size = `${(m.sizeBytes / 2 ** 20).toFixed(0)} MB`.padStart(9);
        const note =
          m.unsupported === null ? (m.quantization ?? '') : `not supported: ${m.unsupported}`;
        print(`${m.name.padEnd(40)} ${size}  ${(m.modelType ?? '?').padEnd(12)} ${note}\n`);
      }
    }
    return Promise.resolve(EXIT.ok);
  },
};
