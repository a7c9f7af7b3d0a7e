import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkConversation,
  type Conversation,
  type HistoryEntry,
} from '../../protocol/conversation';

/** Changes with the shape of the files; files of another version are left alone. */
const VERSION = 1;
const FILE = /^([0-9a-f-]{36})\.json$/;

/** Conversations as files, one each: `folder/ID.json`. A file that cannot be read is left alone and not listed. */
export class History {
  private known: Map<string, HistoryEntry> | null = null;
  private writes = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly log: (message: string) => void,
  ) {}

  /** Newest first; with a query only those that have all its words in their title or text. */
  async list(query = ''): Promise<HistoryEntry[]> {
    await this.writes;
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const entries = [...(await this.entries()).values()].sort((a, b) => b.updatedAt - a.updatedAt);
    if (words.length === 0) return entries;
    const fits = await Promise.all(
      entries.map(async ({ id }) => {
        const conversation = await this.load(id);
        const text = conversation ? textOf(conversation) : '';
        return words.every((word) => text.includes(word));
      }),
    );
    return entries.filter((_, index) => fits[index]);
  }

  /** Null when there is no such conversation, or its file is damaged. */
  async read(id: string): Promise<Conversation | null> {
    await this.writes;
    return this.load(id);
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
      const entries = await this.entries();
      await mkdir(this.folder, { recursive: true });
      await writeFile(`${file}.part`, JSON.stringify({ version: VERSION, conversation }));
      await rename(`${file}.part`, file);
      entries.set(conversation.id, entryOf(conversation));
    });
  }

  remove(id: string): Promise<void> {
    return this.after(async () => {
      const file = this.fileOf(id);
      if (file === null) return;
      await rm(file, { force: true });
      (await this.entries()).delete(id);
    });
  }

  /** Every id becomes part of a path, so it is one of ours or nothing. */
  private fileOf(id: string): string | null {
    return FILE.test(`${id}.json`) ? join(this.folder, `${id}.json`) : null;
  }

  private async entries(): Promise<Map<string, HistoryEntry>> {
    if (this.known) return this.known;
    const names = await readdir(this.folder).catch(() => []);
    const ids = names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
    const read = await Promise.all(ids.map((id) => this.load(id)));
    const found = read.filter((conversation) => conversation !== null);
    this.known ??= new Map(found.map((conversation) => [conversation.id, entryOf(conversation)]));
    return this.known;
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
