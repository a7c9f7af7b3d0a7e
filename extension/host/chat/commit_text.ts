/** What fits most contexts beside the instructions. */
const MAX_DIFF_CHARS = 12_000;
/** Less of a file tells nothing; of too many files the last ones are left out. */
const MIN_SHARE = 300;

/**
 * The diff, or as much of it as a model can take, with notes of what is missing. Short changes are whole: a lock file or
 * minified code takes no more room than is left.
 */
export function cutDiff(diff: string): string {
  if (diff.length <= MAX_DIFF_CHARS) return diff;
  const files = diff.split(/^(?=diff --git )/m);
  const sizes = files.map(({ length }) => length);
  const share = Math.max(fairShare(sizes, MAX_DIFF_CHARS), MIN_SHARE);
  let room = MAX_DIFF_CHARS;
  const kept: string[] = [];
  for (const file of files) {
    const piece = cutFile(file, Math.min(share, room));
    if (piece === '') continue;
    kept.push(piece);
    room -= Math.min(file.length, share);
  }
  const missing = files.length - kept.length;
  const note = missing === 0 ? '' : `[${missing} more files are left out]`;
  return (kept.join('') + note).trimEnd();
}

/** The size that the larger ones are cut to so that all of them together have `total`. */
function fairShare(sizes: readonly number[], total: number): number {
  let left = total;
  let count = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    if (size * count > left) break;
    left -= size;
    count--;
  }
  return count === 0 ? total : Math.floor(left / count);
}

function cutFile(file: string, share: number): string {
  if (file.length <= share) return file;
  const end = file.lastIndexOf('\n', share);
  return end < 0
    ? ''
    : `${file.slice(0, end)}\n[${file.length - end} more characters are left out]\n`;
}

/** Models like to put quotes or a fence around what they were asked for. */
export function cleanMessage(text: string): string {
  return text
    .trim()
    .replace(/^```\w*\n?/, '')
    .replace(/\n?```$/, '')
    .replace(/^(["'`])([^\n]*)\1$/, '$2')
    .trim();
}
