import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { cache } from '../../scripts/vscode-lab/lab.mjs';
import type { Lab } from '../../scripts/vscode-lab/lab.mjs';
import { launchBrowser, newPage } from './driver/browser';
import type { Editor } from './driver/editor';
import { type Process, descendants } from './driver/processes';
import { type Counters, type HostState, Probe } from './driver/probe';
import { Sandbox } from './driver/sandbox';
import { VsCodeServer } from './driver/server';
import { until } from '../until';
import { Workbench } from './driver/workbench';

/** Text of a file in which this mark stands for the cursor. */
const CURSOR = '█';

const QUIET_MS = 1000;
const POLL_MS = 50;

export interface SessionOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Of the window, in CSS pixels. */
  readonly size?: { readonly width: number; readonly height: number };
  /** Device pixels per CSS pixel. */
  readonly scale?: number;
}

/** A VS Code with the packaged extension, open on an empty workspace, and the ways to look into it. */
export class Session {
  private constructor(
    readonly sandbox: Sandbox,
    readonly workbench: Workbench,
    private readonly server: VsCodeServer,
    private readonly browser: Browser,
    private probe: Probe,
  ) {}

  static async start(lab: Lab, vsix: string, options: SessionOptions = {}): Promise<Session> {
    const sandbox = new Sandbox(options.settings);
    const portFile = portFileOf(sandbox);
    let server: VsCodeServer | undefined;
    let browser: Browser | undefined;
    try {
      await VsCodeServer.install(lab, sandbox, [vsix, await Probe.pack(sandbox)]);
      const env = { ANLLM_TEST: '1', ANLLM_E2E_PROBE: portFile };
      server = await VsCodeServer.start(lab, sandbox, { env });
      browser = await launchBrowser(lab);
      const page = await newPage(browser, options.size, options.scale);
      await page.goto(`${server.origin}/?folder=${sandbox.workspace}`);
      const workbench = new Workbench(page);
      await workbench.waitUntilLoaded();
      const probe = await Probe.connect(portFile);
      return new Session(sandbox, workbench, server, browser, probe);
    } catch (error) {
      await browser?.close();
      await server?.stop();
      sandbox.dispose();
      throw error;
    }
  }

  get editor(): Editor {
    return this.workbench.editor;
  }

  /** Writes a file, opens it and puts the cursor where █ stands. */
  async open(name: string, text: string): Promise<void> {
    const before = text.slice(0, text.indexOf(CURSOR)).split('\n');
    const path = this.sandbox.write(name, text.replace(CURSOR, ''));
    const column = (before.at(-1)?.length ?? 0) + 1;
    await this.workbench.openFile(path, { line: before.length, column });
  }

  /** Reloads the window; its extension host ends and another one starts. */
  async reload(): Promise<void> {
    const portFile = portFileOf(this.sandbox);
    rmSync(portFile, { force: true });
    await this.workbench.page.reload();
    await this.workbench.page.waitForSelector('.monaco-workbench .part.statusbar');
    this.probe = await Probe.connect(portFile);
  }

  async hostState(): Promise<HostState> {
    return await until('the state of the host', () => this.probe.state());
  }

  async counters(): Promise<Counters> {
    return (await this.hostState()).counters;
  }

  engineProcesses(): Process[] {
    return descendants(this.server.pid, 'dist/engine.js');
  }

  /** Waits until all that was typed is worked off: no question is open and the engine rests. */
  async settled(): Promise<Counters> {
    return await until('the engine to rest', async () => {
      const counters = await this.counters();
      return counters.pending === 0 && counters.engine === 'ready' ? counters : null;
    });
  }

  /** Watches for longer than any debounce that no request goes to the engine. */
  async staysQuiet(requests: number): Promise<void> {
    const end = performance.now() + QUIET_MS;
    do {
      const now = await this.counters();
      if (now.requests !== requests) {
        throw new Error(`${now.requests - requests} requests were sent; none should be`);
      }
      await delay(POLL_MS);
    } while (performance.now() < end);
  }

  /** What a screen reader says of anllm's status bar item. */
  async waitForStatus(text: string): Promise<void> {
    await until(
      `the status "${text}"`,
      async () => (await this.workbench.statusBarText('anllm.anllm')) === text,
    );
  }

  async screenshot(name: string): Promise<string> {
    const folder = join(cache, 'e2e');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.png`);
    await this.workbench.page.screenshot({ path });
    return path;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
    this.sandbox.dispose();
  }
}

/** Where the probe extension writes its port. */
function portFileOf({ root }: Sandbox): string {
  return join(root, 'probe-port');
}
