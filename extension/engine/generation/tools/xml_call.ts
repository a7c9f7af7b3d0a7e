import { isJsonObject } from '../../loading/json_file';
import type { ParsedCall, ToolSchema } from './call_parser';

const FUNCTION = /^\s*<function=([^>\s]+)>([\s\S]*)$/;
/** What the call of a function begins with. */
export function functionTag(name: string): string {
  return `<function=${name}>`;
}

const FUNCTION_END = '</function>';
const PARAMETER = /<parameter=([^>\s]+)>/g;
const PARAMETER_END = '</parameter>';

/**
 * A call as Qwen 3 Coder writes it: `<function=NAME><parameter=KEY>VALUE</parameter></function>`. Values are plain text;
 * the tool's schema says which of them are strings. Null when the text is no such call.
 */
export function parseXmlCall(body: string, tools: readonly ToolSchema[]): ParsedCall | null {
  const match = FUNCTION.exec(body);
  if (match === null) return null;
  const [, name = '', rest = ''] = match;
  const end = rest.lastIndexOf(FUNCTION_END);
  const inside = end < 0 ? rest : rest.slice(0, end);
  const types = typesOf(tools.find((tool) => tool.name === name));
  const values: Record<string, unknown> = {};
  const starts = [...inside.matchAll(PARAMETER)];
  starts.forEach((start, i) => {
    const from = start.index + start[0].length;
    const text = inside.slice(from, starts[i + 1]?.index);
    const close = text.lastIndexOf(PARAMETER_END);
    const key = start[1] ?? '';
    values[key] = valueOf(trimLines(close < 0 ? text : text.slice(0, close)), types[key]);
  });
  return { name, arguments: JSON.stringify(values) };
}

/** The line feeds that the format itself puts around a value. */
function trimLines(text: string): string {
  return text.replace(/^\n/, '').replace(/\n$/, '');
}

function valueOf(text: string, type: unknown): unknown {
  if (type === 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Models write Python's words too.
    const word = text.trim();
    return word === 'True' ? true : word === 'False' ? false : word === 'None' ? null : text;
  }
}

function typesOf(tool: ToolSchema | undefined): Readonly<Record<string, unknown>> {
  const schema: unknown = tool === undefined ? {} : JSON.parse(tool.parameters || '{}');
  const properties = isJsonObject(schema) ? schema.properties : undefined;
  if (!isJsonObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [
      key,
      isJsonObject(value) ? value.type : undefined,
    ]),
  );
}
