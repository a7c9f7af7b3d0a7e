import { visible } from '../../protocol/visible';

/**
 * Writes text of models and of their files to standard output: as it is into a file or a pipe, and into a terminal with
 * what that would obey (colours, links, titles) written out.
 */
export function print(text: string): void {
  process.stdout.write(process.stdout.isTTY ? visible(text) : text);
}

/** Writes a message with names and values of files to standard error. */
export function say(text: string): void {
  process.stderr.write(visible(text));
}
