// @ts-check
/** The size limits: a file has one job, and a reader sees all of it. usage: file-sizes.mjs */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listFiles } from '../lib/content-hash.mjs';
import { isMain, reportFindings, root } from '../lib/process.mjs';

const limits = [
  { pattern: /\.(ts|tsx|mjs)$/, maxLines: 400, maxMedian: 80 },
  { pattern: /\.(cpp|h|mm)$/, maxLines: 450, maxMedian: 100 },
  { pattern: /\.metal$/, maxLines: 350, maxMedian: 350 },
];

/** @param {readonly number[]} values ascending */
const median = (values) => values[Math.floor(values.length / 2)] ?? 0;

/**
 * @param {ReadonlyMap<string, number>} lineCounts lines of each source file
 * @returns {string[]} findings
 */
export function checkSizes(lineCounts) {
  return limits.flatMap(({ pattern, maxLines, maxMedian }) => {
    const files = [...lineCounts].filter(([file]) => pattern.test(file));
    const findings = files
      .filter(([, lines]) => lines > maxLines)
      .map(([file, lines]) => `${file}: ${lines} lines, at most ${maxLines}`);
    const middle = median(files.map(([, lines]) => lines).sort((a, b) => a - b));
    if (middle > maxMedian) {
      findings.push(
        `half of the ${pattern} files have over ${middle} lines; the aim is ${maxMedian}`,
      );
    }
    return findings;
  });
}

export function sourceLineCounts() {
  const files = ['extension', 'native', 'metal', 'webview', 'scripts'].flatMap((folder) =>
    listFiles(folder, /\.(ts|tsx|mjs|cpp|h|mm|metal)$/),
  );
  return new Map(
    files.map((file) => [file, readFileSync(path.join(root, file), 'utf8').split('\n').length - 1]),
  );
}

if (isMain(import.meta.filename)) {
  reportFindings(checkSizes(sourceLineCounts()));
}
