// @ts-check
/**
 * native/prelude.h, which gcc parses once for each set of flags: with it the addon is built in two thirds of the time.
 * Other compilers build without.
 */
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { contentHash, makeIfChanged } from '../lib/content-hash.mjs';
import { mustSucceed, root } from '../lib/process.mjs';

export const prelude = 'native/prelude.h';

/** All relative to the root. gcc looks for parsed headers in a folder of this name and takes the one that fits its flags. */
const header = '.cache/prelude/prelude.h';
const parsed = `${header}.gch`;

/**
 * Lines of `make --dry-run` that compile a source, for the first source of each target.
 * @param {string} output
 */
function compileCommands(output) {
  /** @type {Map<string, { command: string, source: string }>} */
  const found = new Map();
  for (const line of output.split('\n')) {
    const words = /^[^']+ -o Release\/obj\.target\/(\w+)\/\S+\.o (\S+\.cpp) .* -c$/.exec(line);
    const [command = '', target = '', source = ''] = words ?? [];
    if (command !== '' && !found.has(target)) found.set(target, { command, source });
  }
  return [...found];
}

/**
 * Parses the header as the makefiles of node-gyp would compile a source, unless that is done.
 * @param {string} build folder of the makefiles, relative to the root
 * @param {string} compiler what it says of itself
 * @returns {Promise<string>} flags with which every source begins with it
 */
export async function parsePrelude(build, compiler) {
  const cwd = path.join(root, build);
  const fromBuild = path.relative(build, header);
  mkdirSync(path.join(root, parsed), { recursive: true });
  const text = `#include "${path.relative(path.dirname(header), prelude)}"\n`;
  // Everything would be compiled again.
  await makeIfChanged(header, contentHash([text], []), () => writeFile(path.join(root, header), text));
  const plan = await mustSucceed('make', ['--dry-run', 'BUILDTYPE=Release', 'V=1'], { cwd });
  await Promise.all(
    compileCommands(plan).map(async ([target, { command, source }]) => {
      const parse = command
        .replace(/ -o \S+/, ` -o ${fromBuild}.gch/${target}`)
        .replace(` ${source} `, ` -x c++-header ${fromBuild} `)
        .replace(/ -MMD -MF \S+/, '');
      await makeIfChanged(`${parsed}/${target}`, contentHash([compiler, parse], [prelude]), async () => {
        await mustSucceed('sh', ['-c', parse], { cwd });
      });
    }),
  );
  return `-include ${fromBuild}`;
}
