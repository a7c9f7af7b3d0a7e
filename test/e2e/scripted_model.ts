import type { ServerResponse } from 'node:http';
import { FakeServer, models } from '../engine/remote/fake_server';
import type { Session } from './session';

/** A server in the place of a model: it says what it was told to, line by line. */
export class ScriptedModel {
  private text = '';
  private finish: 'stop' | 'length' = 'stop';
  private held: Promise<void> | null = null;
  private release: () => void = () => undefined;

  private constructor(private readonly server: () => FakeServer) {}

  static async start(name: string): Promise<ScriptedModel> {
    const model = new ScriptedModel(() => server);
    const server = await FakeServer.start({
      'GET /v1/models': models(name),
      'POST /v1/chat/completions': (response) => model.answer(response),
    });
    return model;
  }

  get url(): string {
    return this.server().url;
  }

  /** Every message that was sent as the last one, oldest first. */
  get questions(): string[] {
    return this.server()
      .of('/v1/chat/completions')
      .map(({ body }) => (body['messages'] as { content: string }[]).at(-1)?.content ?? '');
  }

  /** Streams that the client closed before their end. */
  get aborted(): number {
    return this.server().aborted;
  }

  /** The next answers are this text, with this end. With `hold` their second half waits for `goOn`. */
  says(
    text: string,
    { hold = false, finish = 'stop' }: { hold?: boolean; finish?: 'stop' | 'length' } = {},
  ): void {
    this.text = text;
    this.finish = finish;
    this.held = hold ? new Promise((done) => (this.release = done)) : null;
  }

  goOn(): void {
    this.release();
  }

  async stop(): Promise<void> {
    this.release();
    await this.server().close();
  }

  private async answer(response: ServerResponse): Promise<void> {
    const lines = this.text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const [index, content] of lines.entries()) {
      if (index === Math.ceil(lines.length / 2)) await this.held;
      if (response.destroyed) return;
      const choices = [{ index: 0, delta: { content }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ choices })}\n\n`);
      await new Promise(setImmediate);
    }
    const end = [{ index: 0, delta: {}, finish_reason: this.finish }];
    response.end(`data: ${JSON.stringify({ choices: end })}\n\ndata: [DONE]\n\n`);
  }
}

/** Runs with a model that is told what to say. `name`: what the chat calls it. */
export async function withScript(
  session: Session,
  run: (model: ScriptedModel) => Promise<void>,
  name = 'scripted',
): Promise<void> {
  const model = await ScriptedModel.start(name);
  session.sandbox.configure({ 'anllm.remote.url': model.url, 'anllm.remote.model': name });
  try {
    await run(model);
  } finally {
    session.sandbox.configure({ 'anllm.remote.url': undefined, 'anllm.remote.model': undefined });
    await model.stop();
  }
}
