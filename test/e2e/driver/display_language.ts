import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/lib/process.mjs';
import { bracketed, pseudoTexts } from '../../pseudo';
import type { Sandbox } from './sandbox';

/** A real one, so that VS Code takes it; its own texts stay English, since the pack that names it has none. */
const LANGUAGE = 'de';

/**
 * Sets VS Code's display language to one that only the extension is translated to, with every text in ⟦brackets⟧. A window
 * that is loaded after this is in it.
 * @returns undoes it
 */
export function translateWindow({ data, extensions }: Sandbox): () => void {
  const userData = join(data, 'data');
  const pack = join(userData, 'empty-pack.json');
  const extension = join(
    extensions,
    readdirSync(extensions).find((name) => name.startsWith('anllm.anllm-')) ?? '',
  );
  const manifest = JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8')) as Record<
    string,
    string
  >;
  const files: Readonly<Record<string, unknown>> = {
    [pack]: { contents: {} },
    [join(userData, 'languagepacks.json')]: {
      [LANGUAGE]: {
        hash: 'x',
        extensions: [{ extensionIdentifier: { id: 'anllm-test.language' }, version: '1.0.0' }],
        translations: { vscode: pack },
        label: LANGUAGE,
      },
    },
    [join(userData, 'User', 'argv.json')]: { locale: LANGUAGE },
    [join(extension, `package.nls.${LANGUAGE}.json`)]: bracketed(manifest),
    [join(extension, 'extension', 'l10n', `bundle.l10n.${LANGUAGE}.json`)]: pseudoTexts(),
  };
  for (const [file, value] of Object.entries(files)) writeFileSync(file, JSON.stringify(value));
  return () => Object.keys(files).forEach((file) => rmSync(file, { force: true }));
}
