// @ts-check
/** Fonts of the pictures (SIL Open Font License), so that they look the same on every machine. */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const fontPackages = ['@fontsource/inter@5.3.0', '@fontsource/jetbrains-mono@5.3.0'];
export const codeFont = 'JetBrains Mono';
const interfaceFont = 'Inter';

const files = [
  { family: interfaceFont, weight: 400, file: 'inter/files/inter-latin-400-normal.woff2' },
  { family: interfaceFont, weight: 600, file: 'inter/files/inter-latin-600-normal.woff2' },
  {
    family: codeFont,
    weight: 400,
    file: 'jetbrains-mono/files/jetbrains-mono-latin-400-normal.woff2',
  },
];

/**
 * Puts the fonts beside the installed extension's page, which may load no others, for its style sheet.
 * @param {string} extensions folder of installed extensions
 * @param {string} modules node_modules that has the packages
 */
export function useFontsInPage(extensions, modules) {
  const name = readdirSync(extensions).find((folder) => folder.startsWith('anllm.anllm-'));
  const page = path.join(extensions, name ?? '', 'dist', 'webview');
  const faces = files.map(({ family, weight, file }) => {
    copyFileSync(path.join(modules, '@fontsource', file), path.join(page, path.basename(file)));
    return `@font-face { font-family: '${family}'; font-weight: ${weight}; src: url(${path.basename(file)}); }`;
  });
  const style = path.join(page, 'chat.css');
  const own = readFileSync(style, 'utf8');
  const everywhere = `body { font-family: '${interfaceFont}', sans-serif; }`;
  writeFileSync(style, [...faces, own, everywhere].join('\n'));
}

/**
 * Serves the fonts from the workbench's own origin, which its content security policy allows, and uses them.
 * @param {import('playwright-core').Page} page
 * @param {string} modules node_modules that has the packages
 */
export async function useFonts(page, modules) {
  const faces = await Promise.all(
    files.map(async ({ family, weight, file }) => {
      const url = `/picture-fonts/${path.basename(file)}`;
      await page.route(`**${url}`, (route) =>
        route.fulfill({ path: path.join(modules, '@fontsource', file), contentType: 'font/woff2' }),
      );
      return `@font-face { font-family: '${family}'; font-weight: ${weight}; src: url(${url}); }`;
    }),
  );
  const everywhere = `.monaco-workbench { font-family: '${interfaceFont}', sans-serif !important; }`;
  await page.addStyleTag({ content: [...faces, everywhere].join('\n') });
  const loads = files.map(
    ({ family, weight }) => `document.fonts.load('${weight} 15px "${family}"')`,
  );
  await page.evaluate(`Promise.all([${loads.join()}]).then(() => null)`);
}
