/** What a line of code declares, so that the same declaration is found again when its details have changed. */

const MODIFIERS =
  'export|default|declare|public|private|protected|internal|static|async|abstract|final|override|readonly|pub|unsafe|inline';
const NAMED = new RegExp(
  `^(?:(?:${MODIFIERS})(?:\\([\\w ]+\\))?\\s+)*(const|let|var|class|interface|type|enum|struct|trait|union|def|fn|func|function\\*?|namespace|module|record)\\s+(?:\\([^)]*\\)\\s*)?([\\w$]+)`,
);
const IMPORT = /^(?:import|export)\b.*\bfrom\s+(['"][^'"]+['"])|^from\s+(\S+)\s+import\b/;
/** `total(items: Item[]): number {`, a method without any word before it. */
const METHOD =
  /^(?:(?:static|async|get|set|public|private|protected|override)\s+)*([\w$#]+)\s*\([^;]*\{$/;
/** `public int Add(int a, int b)`. */
const TYPED = /^((?:[\w.*&:<>,[\]?]+\s+)+[*&]*[\w.:~]+)\s*\([^;]*$/;
const NO_NAMES =
  /^(if|for|foreach|while|switch|catch|return|await|throw|else|with|using|new|case|do|yield|elif)\b/;

/** Equal for lines that declare the same; null for other lines. */
export function declaredBy(line: string): string | null {
  const text = line.trim();
  const [, kind, name] = NAMED.exec(text) ?? [];
  if (name !== undefined) return `${/^(const|let|var)$/.test(kind ?? '') ? 'const' : kind} ${name}`;
  const [, from, module] = IMPORT.exec(text) ?? [];
  if (from ?? module) return `import ${from ?? module}`;
  if (NO_NAMES.test(text)) return null;
  const [, method] = METHOD.exec(text) ?? [];
  if (method !== undefined) return `${method}()`;
  const [, typed] = TYPED.exec(text) ?? [];
  const words = typed?.split(/\s+/).filter((word) => !MODIFIER.test(word)) ?? [];
  return words.length > 1 ? `${words.at(-1)}()` : null;
}

const MODIFIER = new RegExp(`^(${MODIFIERS})$`);

export const isImport = (declared: string): boolean => declared.startsWith('import ');
