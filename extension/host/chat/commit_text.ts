/** What fits most contexts beside the instructions; the end of a long diff is left out. */
const MAX_DIFF_CHARS = 12_000;

/** The diff, or as much of it as a model can take, with a note of what is missing. */
export function cutDiff(diff: string): string {
  if (diff.length <= MAX_DIFF_CHARS) return diff;
  const end = diff.lastIndexOf('\n', MAX_DIFF_CHARS);
  return `${diff.slice(0, end)}\n[${diff.length - end} more characters are left out]`;
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
