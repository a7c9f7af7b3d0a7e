// @ts-check
/**
 * npm run metal:cuda [-- --build-only | --sanitize | --bench | --shapes]
 * The kernels of metal/ on an NVIDIA GPU (CUDA 12 or later in CUDA_HOME, default /usr/local/cuda): single ops against
 * expected values, then whole models and the ops of test/native against the reference; with --sanitize the single ops
 * under compute-sanitizer's memcheck and racecheck; with --bench how fast they read, as a table; with --shapes how that
 * depends on the division of work.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { buildAddon } from '../../../scripts/build/addon.mjs';
import { listFiles } from '../../../scripts/lib/content-hash.mjs';
import { readGyp } from '../../../scripts/lib/gyp.mjs';
import { Failure, mustSucceed, root, run, runMain } from '../../../scripts/lib/process.mjs';
import { writeCudaKernels } from './kernel-text.mjs';

const cuda = process.env.CUDA_HOME ?? '/usr/local/cuda';
const compiler = process.env.CXX ?? 'g++';
const folder = 'build/metal/cuda';
const out = (/** @type {string} */ name) => path.join(root, folder, name);

/** @param {string} source */
async function compile(source) {
  const object = `${folder}/${source.replaceAll('/', '_')}.o`;
  const flags = ['-std=c++20', '-O2', '-fPIC', '-Wall', '-Wno-missing-field-initializers'];
  const includes = [`-I${cuda}/include`, `-I${folder}`];
  await mustSucceed(compiler, [...flags, ...includes, '-c', source, '-o', object]);
  return object;
}

/** @param {readonly string[]} sources */
async function compileAll(sources) {
  const pending = [...sources];
  /** @type {string[]} */
  const objects = [];
  const worker = async () => {
    for (let source = pending.shift(); source !== undefined; source = pending.shift())
      objects.push(await compile(source));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return objects;
}

async function build() {
  const addon = await buildAddon();
  if (typeof addon !== 'string') throw new Failure(`missing: ${addon.missing.join(', ')}`);
  mkdirSync(out('addon/build/Release'), { recursive: true });
  writeCudaKernels();
  const device = await compileAll(
    listFiles('test/metal/cuda', /\.cpp$/).filter((f) => !/check|bench/.test(f)),
  );
  const ops = await compileAll(
    listFiles('native/metal', /\.cpp$/).filter(
      (file) => path.dirname(file) === 'native/metal' && !file.endsWith('no_device.cpp'),
    ),
  );
  const runner = await compileAll(listFiles('test/metal/runner', /\.cpp$/));
  const bench = await compileAll(listFiles('test/metal/cuda/bench', /\.cpp$/));
  const check = await compileAll(['test/metal/cuda/check/main.cpp']);
  const link = [
    `-L${cuda}/lib64`,
    `-L${cuda}/lib64/stubs`,
    '-lnvrtc',
    '-lcuda',
    '-static-libstdc++',
    '-static-libgcc',
  ];
  await mustSucceed(compiler, [...runner, ...ops, ...device, ...link, '-o', out('runner')]);
  await mustSucceed(compiler, [...bench, ...ops, ...device, ...link, '-o', out('bench')]);
  await mustSucceed(compiler, [...check, ...device, ...link, '-o', out('check')]);

  const objects = 'build/Release/obj.target';
  const { name, units } = readGyp();
  const own = units
    .filter(({ target, source }) => target === name && !source.endsWith('no_device.cpp'))
    .map(({ source }) => `${objects}/${name}/${source.replace(/\.cpp$/, '.o')}`);
  const kernels = listFiles(objects, /^kernels_\w+\.a$/);
  await mustSucceed(compiler, [
    '-shared',
    '-pthread',
    ...device,
    ...own,
    ...kernels,
    ...link,
    '-o',
    out('addon/build/Release/anllm.node'),
  ]);
}

/** Tests of single ops; what soft_device.test.ts looks for, only the soft device finds. */
const opTests = [
  'attention',
  'attention_append',
  'attention_prepare',
  'elementwise',
  'gated_delta',
  'linear',
  'norm',
].map((name) => `test/metal/${name}.test.ts`);

/** @param {readonly string[]} files @param {NodeJS.ProcessEnv} env */
async function testFiles(files, env) {
  const args = ['--import', 'tsx', '--test', '--test-concurrency=4', ...files];
  if ((await run(process.execPath, args, { env })) !== 0) throw new Failure('tests failed');
}

async function testAll() {
  await testFiles(opTests, { ANLLM_METAL_RUNNER: out('runner') });
  const env = { ANLLM_PREBUILD: out('addon'), ANLLM_TEST_BACKEND: 'metal' };
  const comparing = readdirSync(path.join(root, 'test/native'))
    .map((file) => `test/native/${file}`)
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) =>
      /assertMatchesReference|backendUnderTest|drawTokens/.test(
        readFileSync(path.join(root, file), 'utf8'),
      ),
    );
  await testFiles(comparing, env);
  await mustSucceed(
    process.execPath,
    ['--import', 'tsx', 'scripts/conformance.ts', '--backend=metal-exact'],
    { env },
  );
}

async function sanitize() {
  for (const tool of ['memcheck', 'racecheck']) {
    const log = out(`${tool}-%p.log`);
    const command = `compute-sanitizer --tool ${tool} --error-exitcode 9 --log-file ${log} ${out('runner')}`;
    await testFiles(opTests, { ANLLM_METAL_RUNNER: command });
  }
}

await runMain(async (options) => {
  await build();
  if (options.includes('--build-only')) return;
  if (options.includes('--bench')) await mustSucceed(out('bench'), []);
  else if (options.includes('--shapes')) await mustSucceed(out('bench'), ['--shapes']);
  else if (options.includes('--sanitize')) await sanitize();
  else await testAll();
});
