/** Where a connection stands, by the bytes that the server has sent on it. */
export type ResponseState =
  /** Between two answers, or before the first. */
  | 'none'
  /** Within the head of an answer, or of a body that cannot be gone on with. */
  | 'partial'
  /** Between two events of a stream. */
  | 'stream'
  /** A body that ends with the connection. */
  | 'until_close';

/** Longest head of an answer; ours have a few hundred bytes. */
const MAX_HEAD = 32 * 1024;

type Body =
  | { readonly kind: 'head'; text: string }
  | { readonly kind: 'length'; left: number }
  | { readonly kind: 'chunk_size'; text: string; readonly isStream: boolean }
  | { readonly kind: 'chunk'; left: number; readonly isStream: boolean; readonly isLast: boolean }
  | { readonly kind: 'until_close' };

/**
 * Follows the framing of HTTP/1.1 answers (RFC 9112, sections 6 and 7) without keeping their content, so that one which
 * breaks off can be ended in words. The server writes each event of a stream as one chunk.
 */
export class ResponseTracker {
  private body: Body = { kind: 'head', text: '' };

  get state(): ResponseState {
    const { body } = this;
    if (body.kind === 'head') return body.text === '' ? 'none' : 'partial';
    if (body.kind === 'until_close') return 'until_close';
    return body.kind === 'chunk_size' && body.isStream && body.text === '' ? 'stream' : 'partial';
  }

  push(data: Buffer): void {
    let at = 0;
    while (at < data.length) at += this.take(data.subarray(at));
  }

  /** Bytes of `data` that were taken. */
  private take(data: Buffer): number {
    const { body } = this;
    switch (body.kind) {
      case 'until_close':
        return data.length;
      case 'length': {
        const count = Math.min(body.left, data.length);
        body.left -= count;
        if (body.left === 0) this.body = { kind: 'head', text: '' };
        return count;
      }
      case 'chunk': {
        const count = Math.min(body.left, data.length);
        body.left -= count;
        if (body.left > 0) return count;
        const { isStream, isLast } = body;
        this.body = isLast
          ? { kind: 'head', text: '' }
          : { kind: 'chunk_size', text: '', isStream };
        return count;
      }
      case 'chunk_size':
      case 'head': {
        const end = data.indexOf(0x0a) + 1;
        const count = end === 0 ? data.length : end;
        body.text += data.toString('latin1', 0, count);
        if (body.kind === 'chunk_size' && end > 0) this.beginChunk(body.text, body.isStream);
        else if (body.kind === 'head' && body.text.endsWith('\r\n\r\n')) this.beginBody(body.text);
        else if (body.text.length > MAX_HEAD) this.body = { kind: 'until_close' };
        return count;
      }
    }
  }

  private beginChunk(line: string, isStream: boolean): void {
    const size = parseInt(line, 16);
    // The line feed after it belongs to it, as does the empty line after the last one.
    this.body = Number.isNaN(size)
      ? { kind: 'until_close' }
      : { kind: 'chunk', left: size + 2, isStream, isLast: size === 0 };
  }

  private beginBody(head: string): void {
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    const length = /^content-length: *(\d+)\r$/im.exec(head)?.[1];
    const isChunked = /^transfer-encoding: *chunked\r$/im.test(head);
    const isStream = /^content-type: *text\/event-stream/im.test(head);
    const isEmpty = (status >= 100 && status < 200) || status === 204 || Number(length) === 0;
    if (isEmpty) this.body = { kind: 'head', text: '' };
    else if (isChunked) this.body = { kind: 'chunk_size', text: '', isStream };
    else if (length !== undefined) this.body = { kind: 'length', left: Number(length) };
    else this.body = { kind: 'until_close' };
  }
}
