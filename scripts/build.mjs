// @ts-check
/**
 * npm run build [-- --minify] [--require-native] [--watch]
 * Makes dist/ (bundles) and build/Release/ (the addon). Without a compiler the engine still runs, on its reference
 * backend; --require-native makes that an error.
 */
import { parseArgs } from 'node:util';
import { buildAddon } from './build/addon.mjs';
import { buildBundles, watchBundles } from './build/bundles.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { Failure, isMain, runMain } from './lib/process.mjs';
import { installCommand } from './lib/system-packages.mjs';

/** @param {{ minify?: boolean, requireNative?: boolean }} [options] */
export async function build({ minify = false, requireNative = false } = {}) {
  await ensureDependencies();
  const addon = await buildAddon();
  await buildBundles({ minify });
  if (typeof addon === 'string') {
    console.log(
      `dist/ is built; the native addon is ${addon === 'built' ? 'built' : 'up to date'}`,
    );
    return;
  }
  const message =
    `The native addon cannot be built: ${addon.missing.join(', ')} missing.\n` +
    `Install with: ${installCommand(addon.missing)}`;
  if (requireNative) throw new Failure(message);
  console.warn(`${message}\nGoing on without it: the reference backend is right but slow.`);
}

if (isMain(import.meta.filename)) {
  void runMain(async (args) => {
    const { values } = parseArgs({
      args,
      options: {
        minify: { type: 'boolean' },
        'require-native': { type: 'boolean' },
        watch: { type: 'boolean' },
      },
    });
    await build({
      minify: values.minify ?? false,
      requireNative: values['require-native'] ?? false,
    });
    if (values.watch) await watchBundles();
  });
}
