import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPreflight } from './front_door';

/** An answer for a page of an allowed origin, which the front door has checked: that origin, and no credentials. */
export function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('vary', 'origin');
  if (!isPreflight(request)) return;
  response.setHeader('access-control-allow-methods', 'GET, POST');
  response.setHeader('access-control-allow-headers', 'authorization, content-type, x-api-key');
  response.setHeader('access-control-max-age', '600');
}
