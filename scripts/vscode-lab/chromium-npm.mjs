// @ts-check
/** A headless Chromium from the npm registry, with the libraries and the font that it needs. */
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { Failure, messageOf, mustSucceed } from '../lib/process.mjs';
import { installCommand } from '../lib/system-packages.mjs';
import { CHROMIUM, cache } from './lab.mjs';
import { npmInstall } from './npm.mjs';

const archives = ['al2023', 'fonts', 'swiftshader']; // libnss3 and friends; Open Sans; libGLESv2

/**
 * Installs it below .cache/chromium unless it is there.
 * @param {import('./lab.mjs').Log} log
 * @returns {Promise<import('./lab.mjs').Browser>}
 */
export async function unpackChromium(log) {
  const dir = path.join(cache, 'chromium', CHROMIUM.replaceAll('/', '-'));
  const executable = path.join(dir, 'chromium');
  const env = { LD_LIBRARY_PATH: path.join(dir, 'lib'), FONTCONFIG_PATH: dir };
  if (!existsSync(executable)) {
    log(`no browser on this system: installing ${CHROMIUM} (65 MB)`);
    try {
      await install(dir, executable, env);
    } catch (error) {
      throw new Failure(
        `No browser found, and ${CHROMIUM} does not run here:\n${messageOf(error)}\n` +
          `Install one with: ${installCommand(['chromium'])}`,
      );
    }
  }
  return { path: executable, env };
}

/** @param {string} dir @param {string} executable @param {Record<string, string>} env */
async function install(dir, executable, env) {
  await npmInstall(dir, [CHROMIUM]);
  const packed = path.join(dir, 'node_modules/@sparticuz/chromium/bin');
  for (const name of archives) await extract(path.join(packed, `${name}.tar.br`), dir);
  await writeFile(path.join(dir, 'fonts.conf'), fontConfig(dir));
  const partial = `${executable}.partial`;
  const target = createWriteStream(partial, { mode: 0o755 });
  await pipeline(
    createReadStream(path.join(packed, 'chromium.br')),
    createBrotliDecompress(),
    target,
  );
  await mustSucceed(partial, ['--version'], { env });
  await rename(partial, executable);
}

/** @param {string} archive a .tar.br @param {string} dir */
async function extract(archive, dir) {
  const tar = spawn('tar', ['xf', '-', '-C', dir], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = new Promise((resolve, reject) => {
    tar.once('error', reject);
    tar.once('close', (code) =>
      code === 0 ? resolve(null) : reject(new Error(`tar: exit code ${code} for ${archive}`)),
    );
  });
  await Promise.all([
    pipeline(createReadStream(archive), createBrotliDecompress(), tar.stdin),
    ended,
  ]);
}

/** The package's own fonts.conf names folders of a cloud function. @param {string} dir */
const fontConfig = (dir) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${path.join(dir, 'fonts')}</dir>
  <cachedir>${path.join(dir, 'fonts-cache')}</cachedir>
</fontconfig>
`;
