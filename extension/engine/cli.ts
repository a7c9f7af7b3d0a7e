#!/usr/bin/env node
import { bench } from './cli/bench';
import { cache } from './cli/cache';
import { complete } from './cli/complete';
import { doctor } from './cli/doctor';
import { evaluate } from './cli/eval';
import { EXIT, exitCodeOf } from './cli/exit_codes';
import { models } from './cli/models';
import { commandHelp, parseCommand, type Command } from './cli/options';
import { run } from './cli/run';
import { serve } from './cli/serve';
import { say } from './cli/terminal';
import { verify } from './cli/verify';
import { EngineError } from './errors';

const COMMANDS: readonly Command[] = [
  run,
  complete,
  serve,
  evaluate,
  verify,
  bench,
  models,
  doctor,
  cache,
];

/** Runs the command line and resolves with its exit code (docs/cli.md). */
async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(help());
    return EXIT.ok;
  }
  const command = COMMANDS.find((c) => c.name === name);
  if (command === undefined) {
    const known = COMMANDS.map((c) => c.name).join(', ');
    throw new EngineError(
      'bad_request',
      `unknown command ${JSON.stringify(name)}; expected one of ${known}`,
    );
  }
  const { values, positionals } = parseCommand(command, rest);
  if (values.flag('help')) {
    process.stdout.write(commandHelp(command) + '\n');
    return EXIT.ok;
  }
  return command.run(values, positionals);
}

function help(): string {
  const rows = COMMANDS.map((c) => `  ${`${c.name} ${c.usage}`.padEnd(32)} ${c.summary}\n`);
  return `anllm: local code completion and chat, all on this machine\n\n${rows.join('')}\nanllm COMMAND --help shows the options of a command.\n`;
}

function report(error: unknown): number {
  const code = exitCodeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const detail = code === EXIT.internal && error instanceof Error ? `\n${error.stack ?? ''}` : '';
  say(`anllm: ${message.split('\n')[0] ?? ''}${detail}\n`);
  return code;
}

main(process.argv.slice(2))
  .catch(report)
  .then((code) => {
    process.exitCode = code;
  }, report);
