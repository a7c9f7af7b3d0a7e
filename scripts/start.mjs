// @ts-check
/**
 * npm start: sets up a fresh checkout, shows the main job in the terminal (the embedded model completes a file), and says
 * how to get it into the editor; where VS Code is installed, opens it with the extension.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { build } from './build.mjs';
import { Failure, hasCommand, root, run, runMain } from './lib/process.mjs';

/** Places that a completion model ought to know how to go on from; lines and columns count from 1. */
const examples = [
  { file: 'examples/temperature.ts', line: 18, column: 11 },
  { file: 'examples/point.py', line: 16, column: 16 },
];

/** @param {{ file: string, line: number, column: number }} example */
async function showExample({ file, line, column }) {
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n').slice(0, line);
  const cursorLine = (lines.pop() ?? '').slice(0, column - 1);
  console.log(`\n--- ${file}, cursor at ${line}:${column}`);
  console.log([...lines.slice(-6), `${cursorLine}▮`].join('\n'));
  console.log('--- anllm goes on with');
  const cli = path.join(root, 'dist', 'cli.js');
  const code = await run(process.execPath, [cli, 'complete', file, '--at', `${line}:${column}`]);
  if (code !== 0) throw new Failure(`anllm complete ended with exit code ${code}`);
}

await runMain(async () => {
  await build();
  for (const example of examples) await showExample(example);

  const target = `${process.platform}-${process.arch}`;
  console.log('\nIn VS Code:');
  console.log(`  npm run package -- --target ${target}`);
  console.log(`  code --install-extension anllm-${target}.vsix`);
  console.log('In the shell: node dist/cli.js --help');
  if (hasCommand('code')) {
    console.log('\nOpening VS Code with the extension in development');
    const folder = path.join(root, 'examples');
    await run('code', [`--extensionDevelopmentPath=${root}`, folder]);
  }
});
