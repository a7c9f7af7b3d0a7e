import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from './call';
import { pathOf } from './front_door';

/** Who asked for what, how it ended, how long it took and how many tokens: never what was said. */
export function accessLine(request: IncomingMessage, response: ServerResponse, call: Call): string {
  const { method = '', socket, headers } = request;
  const ms = (performance.now() - call.startedAt).toFixed(0);
  const end = response.writableFinished ? String(response.statusCode) : 'client left';
  const who = `${socket.remoteAddress ?? '?'} ${printable(headers['user-agent'] ?? '-')}`;
  return [
    `${method} ${printable(pathOf(request))}`,
    end,
    `${ms} ms`,
    ...call.facts,
    `from ${who}`,
    call.id,
  ].join(' · ');
}

/** One line, without control characters that a terminal would obey. */
function printable(text: string): string {
  const escaped = text.replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return escaped.length > 120 ? `${escaped.slice(0, 117)}...` : escaped;
}
