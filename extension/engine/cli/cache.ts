import { cacheFolder } from '../backend/packed_cache';
import { clearCaches } from '../cache/clear_caches';
import { EXIT } from './exit_codes';
import { printJson } from './load';
import type { Command } from './options';

export const cache: Command = {
  name: 'clear-cache',
  usage: '',
  summary:
    'Removes what the engine has kept for a faster start, conversations too; it is made again when it is needed.',
  options: { json: { type: 'boolean' } },
  help: { json: 'print one JSON object' },
  async run(values) {
    const folder = cacheFolder();
    const { files, bytes } = await clearCaches(folder);
    if (values.flag('json')) printJson({ folder, files, bytes });
    else
      process.stdout.write(
        `${folder}: ${files} files, ${(bytes / 2 ** 20).toFixed(0)} MB removed\n`,
      );
    return EXIT.ok;
  },
};
