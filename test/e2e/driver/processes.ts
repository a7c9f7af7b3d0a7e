import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Processes below `root` (any depth) whose command line contains `text`. */
export function descendants(root: number, text: string): Process[] {
  const all = existsSync('/proc/self/stat') ? fromProc() : fromPs();
  const found: Process[] = [];
  const queue = [root];
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    const children = all.filter((process) => process.parent === parent);
    queue.push(...children.map(({ pid }) => pid));
    found.push(...children.filter(({ command }) => command.includes(text)));
  }
  return found;
}

/** Linux; a small container has no ps. */
function fromProc(): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // pid (name, with any characters) state ppid ...
      const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(pid), parent: Number(parent), command }];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

function fromPs(): Process[] {
  const output = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return [...output.matchAll(/^ *(\d+) +(\d+) (.*)$/gm)].map(([, pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}
