import * as os from 'node:os';
import * as l10n from '@vscode/l10n';

/** What of a computer decides which models it runs well. */
export interface Machine {
  /** For people: `Apple M2 Pro, 16 GB`. */
  readonly label: string;
  readonly memoryBytes: number;
  /** Has a GPU that the engine computes on: Apple silicon. */
  readonly hasMetal: boolean;
  /** Bytes a second that a model's weights are read with, about. */
  readonly bandwidth: number;
}

const GIB = 2 ** 30;
const GB = 1e9;

/** Gigabytes a second of Apple's chips by generation: M, Pro, Max, Ultra. From Apple's specifications, the lowest of each. */
const APPLE: Readonly<Record<string, readonly number[]>> = {
  M1: [68, 200, 400, 800],
  M2: [100, 200, 400, 800],
  M3: [100, 150, 300, 819],
  M4: [120, 273, 410, 819],
};
const TIERS = ['', 'Pro', 'Max', 'Ultra'];
/** A chip newer than the table is at least as quick as the last in it. */
const NEWEST = APPLE['M4'] ?? [];

/** Two channels of DDR4, of which one core or eight get about this much. */
const PC_BANDWIDTH = 35 * GB;

/** This computer; in a remote window the one where the extension runs, which is where the engine runs. */
export function thisMachine(): Machine {
  const constrained = process.constrainedMemory?.() ?? 0;
  const total = os.totalmem();
  const memoryBytes = constrained > 0 && constrained < total ? constrained : total;
  return describeMachine(process.platform, process.arch, os.cpus()[0]?.model ?? '', memoryBytes);
}

export function describeMachine(
  platform: string,
  arch: string,
  cpu: string,
  memoryBytes: number,
): Machine {
  const hasMetal = platform === 'darwin' && arch === 'arm64';
  const name = cpu.replaceAll(/\((R|TM)\)/gi, '').replace(/\s+(CPU )?@.*$/, '');
  const memory = l10n.t('{size} GB', { size: Math.round(memoryBytes / GIB) });
  return {
    label: [name.replaceAll(/\s+/g, ' ').trim(), memory].filter(Boolean).join(', '),
    memoryBytes,
    hasMetal,
    bandwidth: hasMetal ? appleBandwidth(cpu) : PC_BANDWIDTH,
  };
}

function appleBandwidth(cpu: string): number {
  const [, chip = 'M1', tier = ''] = /\b(M\d+)(?:\s+(Pro|Max|Ultra))?\b/.exec(cpu) ?? [];
  const row = APPLE[chip] ?? NEWEST;
  return (row[TIERS.indexOf(tier)] ?? 68) * GB;
}

/**
 * Memory that models may take: half of a small computer, all but 16 GB of a large one, so that the editor, a browser and a
 * compiler keep theirs. Metal by itself allows two thirds, and three quarters above 36 GB.
 */
export function modelBudget({ memoryBytes, hasMetal }: Machine): number {
  const share = Math.max(memoryBytes / 2, memoryBytes - 16 * GIB);
  if (!hasMetal) return share;
  return Math.min(share, memoryBytes * (memoryBytes > 36 * GIB ? 3 / 4 : 2 / 3));
}
