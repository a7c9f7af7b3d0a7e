import * as z from 'zod';
import type { ToolDefinition } from '../../../protocol/chat';
import { MAX_TEXT, MAX_TOOLS } from '../limits';
import { byKind, described, flag, issue, optional } from './field';

const NAME = /^[\w.:/-]{1,128}$/;

const name = z.string().superRefine((value, context) => {
  if (NAME.test(value)) return;
  context.addIssue(issue('invalid_value', 'expected 1 to 128 letters, digits, _ . : / or -'));
});

const tool = z
  .object({
    type: z.literal('function'),
    function: z.object({
      name,
      description: z.string().max(MAX_TEXT).nullish(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  })
  .transform(({ function: { name: called, description, parameters } }): ToolDefinition => ({
    name: called,
    description: description ?? '',
    parameters: JSON.stringify(parameters ?? { type: 'object', properties: {} }),
  }));

const tools = z
  .array(tool)
  .max(MAX_TOOLS)
  .superRefine((list, context) => {
    const names = list.map((entry) => entry.name);
    const twice = names.findIndex((called, i) => names.indexOf(called) < i);
    if (twice < 0) return;
    context.addIssue({
      ...issue('invalid_value', 'two tools of this name'),
      path: [twice, 'function', 'name'],
    });
  });

/** Whether the model must call something: `name` of the one tool, null for any of them. */
export type ToolChoice = 'none' | 'auto' | { readonly name: string | null };

const toolChoice = byKind({
  string: z.enum(['none', 'auto', 'required']),
  object: z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
}).transform((value): ToolChoice => {
  if (value === 'none' || value === 'auto') return value;
  return { name: value === 'required' ? null : value.function.name };
});

export const toolFields = {
  tools: described(optional(tools), {
    type: 'array',
    range: `at most ${MAX_TOOLS} functions, each with its own name`,
    otherwise: 'none',
    note: 'functions that the model may ask for',
  }),
  tool_choice: described(optional(toolChoice), {
    type: 'string or object',
    range: 'none, auto, required, or a function of `tools`',
    otherwise: 'auto',
    note: 'whether it may, or must: then its arguments are held to their schema',
  }),
  parallel_tool_calls: flag({
    otherwise: 'true',
    note: 'false: the answer ends with the first call',
  }),
};

/** Objects to a choice without tools, or of a tool that is not there. */
export function checkToolChoice(
  value: {
    readonly tools?: readonly ToolDefinition[] | undefined;
    readonly tool_choice?: ToolChoice | undefined;
  },
  context: z.core.$RefinementCtx,
): void {
  const choice = value.tool_choice;
  if (typeof choice !== 'object') return;
  const names = (value.tools ?? []).map((entry) => entry.name);
  if (names.length === 0) {
    context.addIssue({
      ...issue('invalid_value', 'expected tools to choose from'),
      path: ['tool_choice'],
    });
  } else if (choice.name !== null && !names.includes(choice.name)) {
    context.addIssue({ ...issue('invalid_value', 'no such tool in tools'), path: ['tool_choice'] });
  }
}
