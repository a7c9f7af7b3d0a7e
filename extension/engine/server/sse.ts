import type { ServerResponse } from 'node:http';
import { asApiError } from './errors';
import { MAX_UNREAD_BYTES, type Timeouts } from './limits';

/**
 * Server-sent events on a response. The answer is never held up by a slow reader: what it does not take is kept, and a
 * reader that takes nothing for a while, or leaves too much, is cut off.
 */
export class EventStream {
  private readonly ping: NodeJS.Timeout;
  private stalled: NodeJS.Timeout | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly timeouts: Timeouts,
  ) {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    response.on('drain', () => this.clearStalled());
    response.once('close', () => this.dispose());
    this.ping = setInterval(() => this.write(': ping\n\n'), timeouts.pingMs);
    this.ping.unref();
  }

  /** JSON has no line feeds outside of strings, and escapes those inside: one event is one line. */
  send(value: unknown, event?: string): void {
    const name = event === undefined ? '' : `event: ${event}\n`;
    this.write(`${name}data: ${JSON.stringify(value)}\n\n`);
  }

  /** OpenAI's end of a stream. */
  done(): void {
    this.write('data: [DONE]\n\n');
    this.end();
  }

  /** Tells what went wrong after the headers were sent; the client must not take the answer for a whole one. */
  fail(error: unknown): void {
    this.send(asApiError(error).body());
    this.done();
  }

  /** What is not read yet may still be; a reader that has stopped is cut off all the same. */
  end(): void {
    clearInterval(this.ping);
    if (this.response.writableEnded) return;
    this.response.end();
    this.cutOffLater();
  }

  private write(text: string): void {
    const { response } = this;
    if (response.destroyed || response.writableEnded) return;
    if (response.write(text)) return;
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else this.cutOffLater();
  }

  private cutOffLater(): void {
    const { response, timeouts } = this;
    if (!response.destroyed)
      this.stalled ??= setTimeout(() => response.destroy(), timeouts.stalledMs);
  }

  private clearStalled(): void {
    clearTimeout(this.stalled);
    this.stalled = undefined;
  }

  private dispose(): void {
    clearInterval(this.ping);
    this.clearStalled();
  }
}
