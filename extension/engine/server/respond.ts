import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';

export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), {
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** The answer has been written to the socket already. */
export function streamed(): Response {
  return RESPONSE_ALREADY_SENT;
}
