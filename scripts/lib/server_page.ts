/** docs/server.md, from the tables that the server itself works by. */
import type * as z from 'zod';
import { fieldInfo } from '../../extension/engine/server/fields/field';
import * as limits from '../../extension/engine/server/limits';
import { publicPath, ROUTES } from '../../extension/engine/server/routes';
import { DEFAULT_PORT } from '../../extension/engine/server/server';

const megabytes = (bytes: number) => `${bytes / 2 ** 20} MiB`;

const INTRODUCTION = `# The OpenAI-compatible server

<!-- Written by npm run docs:server; edit scripts/lib/server_page.ts and the field tables of the server instead. -->

\`anllm serve\`, or in VS Code _anllm: Start Local OpenAI Server_, offers the loaded model to other programs: it is off until then.
It runs in the same scheduler as completion and chat, which go first.

    npx anllm serve
    curl http://127.0.0.1:${DEFAULT_PORT}/v1/models -H "Authorization: Bearer TOKEN"

## Who may use it

- It listens on 127.0.0.1 alone. An address that other machines reach needs \`--allow-network\` and a token of your own; the
  connection is not encrypted, so put it behind a proxy that is. An untrusted network is not what it is made for.
- Every request but \`/health\` needs the token, as \`Authorization: Bearer TOKEN\` or \`x-api-key: TOKEN\`. It is made anew at each
  \`anllm serve\` unless \`--token\` or \`$ANLLM_TOKEN\` gives it (arguments are visible to other users of a machine).
  VS Code keeps one in its secret storage; _anllm: Copy Token of the OpenAI Server_ gives it to you.
- Web pages are refused, whatever they know: the \`Host\` must be the server's own, an \`Origin\` must be one that
  \`--allow-origin\` names, bodies must be \`application/json\`.
- No request makes the server read a file or open a connection, but for its own cache. The log has paths, token counts and times, never content.
- In VS Code long prompts and answers are kept on disk for after a restart, as tokens with their keys and values, readable by you
  alone; \`anllm.engine.sessionCache\` \`0\` switches that off. \`anllm serve\` keeps nothing unless \`--session-cache MB\` says so.

## Errors

\`{"error": {"message", "type", "param", "code"}}\`, with the field in \`param\`. Nothing is sent of a stream before all of the request
has been checked; what fails later is an \`error\` event, and never a \`finish_reason\`.

| status | code | when |
| --- | --- | --- |
| 400 | \`invalid_type\`, \`invalid_value\`, \`missing_required_parameter\`, \`…_above_max_…\`, \`…_below_min_value\`, \`empty_…\` | a field is wrong |
| 400 | \`unsupported_parameter\`, \`unsupported_value\` | it would change the answer, and is not supported |
| 400 | \`context_length_exceeded\` | with \`n_prompt_tokens\` and \`n_ctx\` |
| 400 | \`invalid_json\`, \`template_error\` | the body, or what the model's chat template says |
| 401, 403 | \`invalid_api_key\`; \`bad_host\`, \`bad_origin\`, \`cross_site\` | the front door |
| 404, 405 | \`model_not_found\`, \`unknown_route\`; \`method_not_allowed\` | |
| 408, 413, 415, 431 | \`too_large\`, \`content_type\`, \`content_encoding\` | what Node.js refuses itself has no body |
| 429 | \`rate_limit_exceeded\` | with \`Retry-After\`: more than ${limits.MAX_ACTIVE_CHOICES} answers under way |
| 500 | \`engine_error\` | with \`x-should-retry: false\` |
| 503 | \`loading\`, \`unavailable\`, \`shutting_down\`, \`engine_crashed\` | with \`Retry-After\` |

Limits: a body of ${megabytes(limits.MAX_BODY_BYTES)} with ${limits.MAX_JSON_DEPTH} levels, ${limits.TIMEOUTS.requestMs / 1000} s to send it; ${limits.MAX_CHOICES} answers a request; a stream that is not read for
${limits.TIMEOUTS.stalledMs / 1000} s is cut off. A client that goes away frees its place at once.

In VS Code the server lives in the engine's process, behind a port that the extension holds; the status bar shows it. When the
engine crashes, streams end with an \`engine_crashed\` error, requests get 503 with \`Retry-After\`, and moments later it serves
again. \`anllm serve\` is one process: what kills it closes its connections.

## What it answers
`;

/** Markdown, not yet laid out. */
export function serverPage(): string {
  const routes = table(
    ['request', 'what it does'],
    ROUTES.map(({ method, path, summary }) => [`\`${method} ${publicPath(path)}\``, summary]),
  );
  const sections = ROUTES.flatMap(({ path, fields, method }) =>
    fields === undefined ? [] : [`## ${method} ${publicPath(path)}\n\n${fieldTable(fields)}`],
  );
  return [
    INTRODUCTION,
    routes,
    '',
    'Unknown fields are ignored, `null` counts as absent.',
    '',
    ...sections,
  ].join('\n');
}

function fieldTable(fields: z.ZodObject): string {
  const rows = Object.entries(fields.shape).map(([name, schema]) => {
    const info = fieldInfo.get(schema as z.ZodType);
    if (info === undefined) throw new Error(`the field ${name} is not described`);
    return [`\`${name}\``, info.type, info.range, info.otherwise, info.note];
  });
  return table(['field', 'type', 'allowed', 'default', 'what it does'], rows) + '\n';
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
