/** What the tools do: they read the workspace, and change and send nothing. */
import * as vscode from 'vscode';
import { findTextFiles, readText } from '../chat/text_files';
import { isPathOf, matchingLines } from './search';

export interface SearchInput {
  readonly text?: unknown;
}
export interface ProblemsInput {
  readonly path?: unknown;
}

const MAX_FILES = 5000;
const MAX_MATCHES = 50;
const MAX_MATCHES_A_FILE = 10;
const MAX_PROBLEMS = 100;

export async function searchCode(
  { input: { text } }: vscode.LanguageModelToolInvocationOptions<SearchInput>,
  token: vscode.CancellationToken,
): Promise<vscode.LanguageModelToolResult> {
  if (typeof text !== 'string' || text.trim() === '') {
    throw new Error('text: expected the words to look for');
  }
  const files = await findTextFiles(null, MAX_FILES, token);
  const lines: string[] = [];
  for (const file of files) {
    if (token.isCancellationRequested || lines.length >= MAX_MATCHES) break;
    const found = matchingLines((await readText(file)) ?? '', text, MAX_MATCHES_A_FILE);
    const path = vscode.workspace.asRelativePath(file);
    lines.push(...found.map((match) => `${path}:${match.line}: ${match.text}`));
  }
  if (lines.length === 0)
    return answer(`No line of ${files.length} files has ${JSON.stringify(text)}.`);
  const more = lines.length >= MAX_MATCHES ? ['There may be more: look for something rarer.'] : [];
  return answer([...lines.slice(0, MAX_MATCHES), ...more].join('\n'));
}

export function listProblems({
  input: { path },
}: vscode.LanguageModelToolInvocationOptions<ProblemsInput>): vscode.LanguageModelToolResult {
  const wanted = typeof path === 'string' ? path.trim() : '';
  const lines = vscode.languages.getDiagnostics().flatMap(([uri, all]) => {
    const file = vscode.workspace.asRelativePath(uri);
    if (wanted !== '' && !isPathOf(uri.path, file, wanted)) return [];
    return all.map(({ range, severity, message }) => {
      const kind = vscode.DiagnosticSeverity[severity];
      return `${file}:${range.start.line + 1}: ${kind}: ${message}`;
    });
  });
  if (lines.length === 0) {
    const where = wanted === '' ? '' : ` in ${wanted}`;
    return answer(`The editor knows of no problems${where}.`);
  }
  const more = lines.length - MAX_PROBLEMS;
  return answer(
    [...lines.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`And ${more} more.`] : [])].join('\n'),
  );
}

function answer(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
