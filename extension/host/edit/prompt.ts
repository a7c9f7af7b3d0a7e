/** What the model is told about code that it shall rewrite. */
import type { ChatMessage } from '../../protocol/chat';
import { fenced } from '../chat/prompt';

export interface EditPlace {
  readonly path: string;
  readonly languageId: string;
  /** Text of the file before, in, and after the lines that are rewritten. */
  readonly before: string;
  readonly code: string;
  readonly after: string;
}

/** Of the file around, so much helps; more would only be read for longer. */
const CHARS_BEFORE = 6000;
const CHARS_AFTER = 2000;

const INSTRUCTIONS =
  'You rewrite code inside an editor. Answer with one fenced block that holds the new code and nothing else: no ' +
  'explanation, no placeholders, the same indentation. It takes the place of the given lines, so do not repeat what ' +
  'stands before or after them. Change only what the instruction asks for.';

export function editMessages(place: EditPlace, instruction: string): ChatMessage[] {
  const { path, languageId, code } = place;
  const before = lastLines(place.before, CHARS_BEFORE);
  const after = firstLines(place.after, CHARS_AFTER);
  const around = [
    ...(before.trim() === '' ? [] : [`What stands before it:\n${fenced(before, languageId)}`]),
    ...(after.trim() === '' ? [] : [`What stands after it:\n${fenced(after, languageId)}`]),
  ];
  const task =
    code.trim() === ''
      ? `Write the code that belongs at this place: ${instruction}`
      : `The code to rewrite:\n${fenced(code, languageId)}\n\nInstruction: ${instruction}`;
  return [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: [`File: ${path}`, ...around, task].join('\n\n') },
  ];
}

/** Whole lines from the end, at most so many characters. */
function lastLines(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const cut = text.slice(-chars);
  return cut.slice(cut.indexOf('\n') + 1);
}

function firstLines(text: string, chars: number): string {
  return text.length <= chars ? text : text.slice(0, text.lastIndexOf('\n', chars) + 1);
}
