import { randomBytes } from 'node:crypto';

/** What the page may do: run its own script, and nothing else. */
export const PAGE_OPTIONS = {
  enableScripts: true,
  enableForms: false,
  enableCommandUris: false,
} as const;

export const freshNonce = (): string => randomBytes(16).toString('hex');

/** The page of the chat view. All that it shows comes by message; the page itself holds no data. */
export interface PageSource {
  readonly script: string;
  readonly style: string;
  /** Where the webview's own files come from, for the content security policy. */
  readonly cspSource: string;
  /** Fresh for every page. */
  readonly nonce: string;
}

export function contentSecurityPolicy({ cspSource, nonce }: PageSource): string {
  return [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `font-src ${cspSource}`,
    `img-src 'none'`,
    `connect-src 'none'`,
    `form-action 'none'`,
    `base-uri 'none'`,
    `frame-src 'none'`,
  ].join('; ');
}

export function chatPage(source: PageSource): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy(source)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>anllm chat</title>
<link rel="stylesheet" href="${source.style}">
</head>
<body>
<div id="app"></div>
<script nonce="${source.nonce}" src="${source.script}"></script>
</body>
</html>`;
}
