import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Lab } from '../../../scripts/vscode-lab/lab.mjs';
import type { Sandbox } from './sandbox';
import { until } from '../../until';

const run = promisify(execFile);
const STARTUP_MS = 60_000;

export interface ServerOptions {
  /** Added to the environment of the server and so of its extension host. */
  readonly env?: Readonly<Record<string, string>>;
  /** Lets the workbench run a test suite in the extension host; it also silences notifications. */
  readonly smokeTestDriver?: boolean;
}

/** The VS Code server: serves the workbench and runs the extension host. */
export class VsCodeServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Installs packages into the sandbox, as `code --install-extension` does. */
  static async install(lab: Lab, sandbox: Sandbox, packages: readonly string[]): Promise<void> {
    const wanted = packages.flatMap((vsix) => ['--install-extension', vsix]);
    const args = [lab.server, ...common(sandbox), ...wanted];
    const { stdout } = await run(lab.node, args, { env: environment(sandbox) });
    const installed = stdout.split('successfully installed').length - 1;
    if (installed !== packages.length) throw new Error(`not everything was installed:\n${stdout}`);
  }

  static async start(
    lab: Lab,
    sandbox: Sandbox,
    options: ServerOptions = {},
  ): Promise<VsCodeServer> {
    const port = await freePort();
    const flags = ['--host', '127.0.0.1', '--port', String(port), '--without-connection-token'];
    if (options.smokeTestDriver) flags.push('--enable-smoke-test-driver');
    const child = spawn(lab.node, [lab.server, ...common(sandbox), ...flags], {
      env: { ...environment(sandbox), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(join(sandbox.root, 'server.log'));
    child.stdout.pipe(log);
    child.stderr.pipe(log);
    const server = new VsCodeServer(child, port);
    try {
      const answers = async (): Promise<boolean> => (await fetch(`${server.origin}/version`)).ok;
      await until('the VS Code server to answer', answers, STARTUP_MS);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('the VS Code server did not start');
    return pid;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
  }
}

function common(sandbox: Sandbox): string[] {
  return [
    ...['--server-data-dir', sandbox.data, '--extensions-dir', sandbox.extensions],
    ...['--accept-server-license-terms', '--disable-telemetry', '--disable-workspace-trust'],
  ];
}

/** A private home: built-in extensions write there. NODE_OPTIONS of the caller would reach the extension host. */
function environment(sandbox: Sandbox): NodeJS.ProcessEnv {
  return { ...process.env, HOME: sandbox.home, NODE_OPTIONS: '' };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('no TCP port is free on 127.0.0.1');
  server.close();
  await once(server, 'close');
  return address.port;
}
