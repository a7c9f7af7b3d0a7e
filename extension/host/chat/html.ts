import { randomBytes } from 'node:crypto';

/** What the page may do: run its own script, and nothing else. */
export const PAGE_OPTIONS = {
  enableScripts: true,
  enableForms: false,
  enableCommandUris: false,
} as const;

export const freshNonce = (): string => randomBytes(16).toString('hex');

/** The texts of one language, each by the English one; the format of `vscode.l10n.bundle`. */
export interface Translation {
  /** BCP 47. */
  readonly language: string;
  readonly texts: Readonly<Record<string, string>>;
}

/**
 * The page of the chat view. All that it shows comes by message; the page itself holds its texts and no other data. What
 * its script imports has the script's nonce.
 */
export interface PageSource {
  readonly script: string;
  readonly style: string;
  /** Where the webview's own files come from, for the content security policy. */
  readonly cspSource: string;
  /** Fresh for every page. */
  readonly nonce: string;
  /** Undefined for English. */
  readonly translation: Translation | undefined;
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
  const { language, texts } = source.translation ?? { language: 'en' };
  const data = texts === undefined ? '' : ` data-texts="${escapeAttribute(JSON.stringify(texts))}"`;
  return `<!DOCTYPE html>
<html lang="${escapeAttribute(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy(source)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>anllm chat</title>
<link rel="stylesheet" href="${source.style}">
</head>
<body>
<div id="app"${data}></div>
<script type="module" nonce="${source.nonce}" src="${source.script}"></script>
</body>
</html>`;
}

/** For an attribute in double quotes: nothing ends it, and no reference is read in it but these. */
function escapeAttribute(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
