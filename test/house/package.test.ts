import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { buildAgain } from '../../scripts/cross-build.mjs';
import { maxPackageBytes, packageExtension } from '../../scripts/package.mjs';
import { listFiles } from '../../scripts/lib/content-hash.mjs';
import { root } from '../../scripts/lib/process.mjs';
import { readMachO } from './mach-o';
import { readZip } from './zip';

const folder = mkdtempSync(path.join(tmpdir(), 'anllm-package-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

for (const target of ['linux-x64', 'darwin-arm64'] as const) {
  describe(`the package for ${target}`, () => {
    const prebuild = `extension/prebuilds/${target}/anllm.node`;
    let archive: Buffer;
    let files: Map<string, Buffer>;

    before(async () => {
      archive = readFileSync(await packageExtension(target, path.join(folder, `${target}.vsix`)));
      files = readZip(archive);
    });

    test('has only what a user needs', () => {
      const isPiece = (name: string): boolean => /^extension\/dist\/host\/[\w-]+\.js$/.test(name);
      const expected = [
        '[Content_Types].xml',
        'extension.vsixmanifest',
        'extension/LICENSE.txt',
        'extension/changelog.md',
        'extension/package.json',
        'extension/package.nls.json',
        'extension/readme.md',
        ...['cli', 'engine', 'host'].map((name) => `extension/dist/${name}.js`),
        ...['chat.css', 'chat.js', 'codicon.ttf', 'markdown.js'].map(
          (name) => `extension/dist/webview/${name}`,
        ),
        prebuild,
        ...['extension/assets', 'extension/l10n']
          .flatMap((folder) => listFiles(folder, /./))
          .map((file) => `extension/${file}`),
      ];
      const names = [...files.keys()].filter((name) => !isPiece(name));
      assert.deepEqual(names.sort(), expected.sort());
    });

    test('is small enough to install on a slow line', () => {
      assert.ok(archive.length <= maxPackageBytes, `${archive.length} bytes`);
    });

    test('tells nothing of the machine that built it', () => {
      for (const [name, bytes] of files) assert.ok(!bytes.includes(root), `${name} has ${root}`);
    });

    test('has the kernels of the GPU where there is one, and no test device anywhere', () => {
      const addon = files.get(prebuild) ?? assert.fail('no addon');
      const isMac = target === 'darwin-arm64';
      assert.equal(addon.includes('metal_simdgroup_matrix'), isMac);
      assert.equal(addon.includes('MTLCreateSystemDefaultDevice'), isMac);
      assert.ok(!addon.includes('soft device'));
    });

    if (target === 'darwin-arm64') {
      // Of each part, with and without Node-API; the rest is as it was.
      test('has an addon that has the same bytes when it is built again', async () => {
        const elsewhere = path.relative(root, path.join(folder, 'again'));
        const sources = [
          'native/cpu/linear.cpp',
          'native/program/parse.cpp',
          'native/metal/moe.cpp',
        ];
        const again = readFileSync(await buildAgain(target, sources, elsewhere));
        assert.ok(again.equals(files.get(prebuild) ?? assert.fail('no addon')));
      });

      test('has an addon that macOS 14 on Apple silicon loads', () =>
        checkMachO(files.get(prebuild)));
    }
    if (`${process.platform}-${process.arch}` === target) {
      test('completes on its own, from any folder and without node_modules', () => runFrom(files));
    }
  });
}

function checkMachO(bytes: Buffer | undefined): void {
  assert.ok(bytes !== undefined);
  const library = readMachO(bytes);
  assert.equal(library.cpu, 'arm64');
  assert.equal(library.minimumMacOS, '14.0');
  assert.ok(library.defined.includes('napi_register_module_v1'));
  // zig brings its C++ library along, Apple's compiler links that of the system.
  const own = process.platform === 'darwin' ? ['/usr/lib/libc++.1.dylib'] : [];
  assert.deepEqual(library.libraries, [...own, '/usr/lib/libSystem.B.dylib']);
  assert.deepEqual(library.signature, { isAdHoc: true, pagesMatch: true });
  // What the running Node.js has to offer is Node-API, in a version that every supported one has.
  const { symbols } = createRequire(import.meta.url)('node-api-headers') as NodeApiHeaders;
  const nodeApi = new Set([...symbols.v8.js_native_api_symbols, ...symbols.v8.node_api_symbols]);
  assert.deepEqual(
    library.lookedUp.filter((name) => !nodeApi.has(name)),
    [],
  );
}

interface NodeApiHeaders {
  readonly symbols: Record<'v8', { js_native_api_symbols: string[]; node_api_symbols: string[] }>;
}

function runFrom(files: ReadonlyMap<string, Buffer>): void {
  for (const [name, bytes] of files) {
    const file = path.join(folder, 'installed', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  const source = path.join(folder, 'a.py');
  writeFileSync(source, 'def add(a, b):\n    return');
  const cli = path.join(folder, 'installed', 'extension', 'dist', 'cli.js');
  const options = ['complete', source, '--backend', 'cpu', '--json'];
  const answer = execFileSync(process.execPath, [cli, ...options], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.match((JSON.parse(answer) as { text: string }).text, /\ba\b/);
}
