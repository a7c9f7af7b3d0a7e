// @ts-check
/**
 * Writes the kernels for NVRTC, build/metal/cuda/cuda_kernels.inc: the flattened text of every .metal file, for each
 * kernel an entry that hands over what GRID stands for, and this folder's msl_target.h in front.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { flatten, kernelNames } from '../../../scripts/build/kernel-text.mjs';
import { listFiles } from '../../../scripts/lib/content-hash.mjs';
import { Failure, root } from '../../../scripts/lib/process.mjs';

/**
 * @param {string} text of a file
 * @param {string} kernel
 */
function entryOf(text, kernel) {
  const list = new RegExp(`^KERNEL\\(${kernel},[^)]*\\)\\s*\\(([^{]*?),\\s*GRID\\)`, 'm').exec(
    text,
  )?.[1];
  if (list === undefined) throw new Failure(`${kernel}: no list of arguments that ends in GRID`);
  const bindings = [...list.matchAll(/(BUFFER|PARAMS|THREADGROUP_BUFFER)\(([^,]+), (\w+), \d+\)/g)];
  const parameters = bindings.flatMap(([, kind, type, name]) => {
    if (kind === 'THREADGROUP_BUFFER') return [];
    return kind === 'PARAMS' ? [`const __grid_constant__ ${type} ${name}`] : [`${type}* ${name}`];
  });
  const dynamic = bindings.find(([, kind]) => kind === 'THREADGROUP_BUFFER');
  const memory = dynamic && `  extern __shared__ ${dynamic[2]} ${dynamic[3]}[];\n`;
  const names = bindings.map(([, , , name]) => name);
  return (
    `extern "C" __global__ void __launch_bounds__(${kernel}_threads) kernel_${kernel}(${parameters.join(', ')}) {\n` +
    (memory ?? '') +
    `  ${kernel}_body(${names.join(', ')}, make_uint3(blockIdx.x, blockIdx.y, blockIdx.z), threadIdx.x,\n` +
    `      threadIdx.x % 32, threadIdx.x / 32);\n}\n`
  );
}

export function writeCudaKernels() {
  const folder = path.join(root, 'build', 'metal', 'cuda');
  const target = readFileSync(path.join(import.meta.dirname, 'msl_target.h'), 'utf8').replace(
    '#pragma once\n',
    '',
  );
  const sources = ['metal', 'test/metal']
    .flatMap((part) => listFiles(part, /\.metal$/))
    .map((source) => {
      const text = flatten(path.relative('metal', source));
      const names = kernelNames(text);
      const entries = names.map((name) => entryOf(text, name));
      return `    {"${path.basename(source)}", " ${names.join(' ')} ", R"CUDA(${text}\n${entries.join('')})CUDA"},\n`;
    });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, 'cuda_kernels.inc'),
    `constexpr char kTarget[] = R"CUDA(${target})CUDA";\nconstexpr CudaSource kCudaSources[] = {\n${sources.join('')}};\n`,
  );
}
