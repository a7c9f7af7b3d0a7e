import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkConversation,
  type Conversation,
  type HistoryEntry,
} from '../../protocol/conversation';

/** Changes with the shape of the files; files of another version are left alone. */
const VERSION = 1;
const FILE = /^([0-9a-f-]{36})\.json$/;

/** Files that are read at the same time: a process may have only some hundred open. */
const AT_ONCE = 16;

/** What the list needs of a file. */
interface Listed {
  readonly entry: HistoryEntry;
  /** In small letters. */
  readonly text: string;
}

interface Known {
  readonly changedAt: number;
  /** Null for a damaged file. */
  readonly listed: Listed | null;
}

/**
 * Conversations as files, one each: `folder/ID.json`, which all windows share. A file that cannot be read is left alone and
 * not listed.
 */
export class History {
  /** By id. */
  private readonly known = new Map<string, Known>();
  /** When the files were last changed that this window has read or written. */
  private readonly seen = new Map<string, number>();
  private writes = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly log: (message: string) => void,
  ) {}

  /** Newest first; with a query only those that have all its words in their title or text. */
  async list(query = ''): Promise<HistoryEntry[]> {
    await this.writes;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return (await this.current())
      .filter(({ text }) => words.every((word) => text.includes(word)))
      .map(({ entry }) => entry)
      .sort((a, b) => b.updatedAt - a.updatedAt);
  }

  /** Null when there is no such conversation, or its file is damaged. */
  async read(id: string): Promise<Conversation | null> {
    await this.writes;
    await this.see(id);
    return this.load(id);
  }

  /** False when another window has changed the file since this one read or wrote it. */
  async isOurs(id: string): Promise<boolean> {
    await this.writes;
    const [seen, now] = [this.seen.get(id), await this.changedAt(id)];
    return seen === undefined || now === null || seen === now;
  }

  private async load(id: string): Promise<Conversation | null> {
    const file = this.fileOf(id);
    if (file === null) return null;
    try {
      const value = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
      if (value['version'] !== VERSION) throw new Error(`version ${String(value['version'])}`);
      return checkConversation(value['conversation'], id);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.log(`chat history: ${file} cannot be read: ${String(error)}`);
      }
      return null;
    }
  }

  /** Writes after all earlier writes, and so that a crash leaves the old file or the new one. */
  save(conversation: Conversation): Promise<void> {
    return this.after(async () => {
      const file = this.fileOf(conversation.id);
      if (file === null) return;
      const part = `${file}.${process.pid}.part`;
      await mkdir(this.folder, { recursive: true });
      await writeFile(part, JSON.stringify({ version: VERSION, conversation }));
      await rename(part, file);
      await this.see(conversation.id);
    });
  }

  remove(id: string): Promise<void> {
    return this.after(async () => {
      const file = this.fileOf(id);
      if (file === null) return;
      await rm(file, { force: true });
    });
  }

  /** Every id becomes part of a path, so it is one of ours or nothing. */
  private fileOf(id: string): string | null {
    return FILE.test(`${id}.json`) ? join(this.folder, `${id}.json`) : null;
  }

  /** Of all files that can be read; those that have changed are read again. */
  private async current(): Promise<Listed[]> {
    const names = await readdir(this.folder).catch(() => []);
    const ids = names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
    const isThere = new Set(ids);
    for (const id of this.known.keys()) if (!isThere.has(id)) this.known.delete(id);
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => this.refresh(id)));
    }
    return [...this.known.values()].flatMap(({ listed }) => listed ?? []);
  }

  private async refresh(id: string): Promise<void> {
    const changedAt = await this.changedAt(id);
    if (changedAt === null || this.known.get(id)?.changedAt === changedAt) return;
    const conversation = await this.load(id);
    const listed = conversation && { entry: entryOf(conversation), text: textOf(conversation) };
    this.known.set(id, { changedAt, listed });
  }

  private async see(id: string): Promise<void> {
    const changedAt = await this.changedAt(id);
    if (changedAt !== null) this.seen.set(id, changedAt);
  }

  /** Milliseconds since 1970; null when there is no such file. */
  private async changedAt(id: string): Promise<number | null> {
    const file = this.fileOf(id);
    if (file === null) return null;
    return stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
  }

  private after(write: () => Promise<void>): Promise<void> {
    const done = this.writes.then(write);
    this.writes = done.catch((error: unknown) => this.log(`chat history: ${String(error)}`));
    return done;
  }
}

function entryOf({ id, title, updatedAt, turns }: Conversation): HistoryEntry {
  return { id, title, updatedAt, turns: turns.length };
}

function textOf({ title, turns }: Conversation): string {
  return [title, ...turns.map(({ text }) => text)].join('\n').toLowerCase();
}
