import { cacheFolder, PackedCache } from '../backend/packed_cache';
import { EXIT } from './exit_codes';
import { printJson } from './load';
import type { Command } from './options';

export const cache: Command = {
  name: 'clear-cache',
  usage: '',
  summary:
    'Removes what the engine has packed for a faster start; it is made again when it is needed.',
  options: { json: { type: 'boolean' } },
  help: { json: 'print one JSON object' },
  run(values) {
    const folder = cacheFolder();
    const { files, bytes } = new PackedCache({ folder }).clear();
    if (values.flag('json')) printJson({ folder, files, bytes });
    else
      process.stdout.write(
        `${folder}: ${files} files, ${(bytes / 2 ** 20).toFixed(0)} MB removed\n`,
      );
    return Promise.resolve(EXIT.ok);
  },
};
