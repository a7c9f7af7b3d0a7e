import * as z from 'zod';
import { MAX_TOP_LOGPROBS } from '../limits';
import { described, flag, integer, issue, oneOf, optional, refused } from './field';
import { checkOneFormat, formatFields, grammarOf } from './format';
import { messagesField } from './messages';
import {
  checkStreamOptions,
  choiceFields,
  maxTokens,
  modelField,
  samplingFields,
  streamFields,
} from './sampling';
import { checkToolChoice, toolFields } from './tools';

/** Variables of chat templates; with others a client could overrule what the server itself tells a template. */
const templateKwargs = z.strictObject(
  { enable_thinking: z.boolean().optional() },
  { error: 'expected only enable_thinking' },
);

export const chatFields = z
  .object({
    model: modelField,
    messages: messagesField,
    max_completion_tokens: maxTokens(
      'what the context holds',
      'most tokens of the answer, its thoughts included',
    ),
    max_tokens: maxTokens('', 'the old name of `max_completion_tokens`'),
    logprobs: flag({ note: 'log probabilities of the tokens' }),
    top_logprobs: integer(0, MAX_TOP_LOGPROBS, {
      otherwise: '0',
      note: 'and of so many alternatives; needs `logprobs`',
    }),
    ...choiceFields,
    ...samplingFields,
    ...streamFields,
    ...toolFields,
    ...formatFields,
    reasoning_effort: oneOf(['none', 'minimal', 'low', 'medium', 'high'], {
      otherwise: 'the model’s own',
      note: '`none`: no thoughts before the answer, where the model can do without',
    }),
    chat_template_kwargs: described(optional(templateKwargs), {
      type: 'object',
      range: '`enable_thinking`: boolean',
      otherwise: 'the model’s own',
      note: 'thoughts before the answer, or none',
    }),
    chat_template: refused('the model’s own template is used'),
    functions: refused('use tools'),
    function_call: refused('use tool_choice'),
    audio: refused('text only'),
  })
  .superRefine(checkStreamOptions)
  .superRefine(checkOneFormat)
  .superRefine(checkToolChoice)
  .superRefine((value, context) => {
    if (value.top_logprobs !== undefined && value.logprobs !== true) {
      context.addIssue({
        ...issue('invalid_value', 'only allowed with "logprobs": true'),
        path: ['top_logprobs'],
      });
    }
    const format = grammarOf(value);
    if (format !== null && (value.tools ?? []).length > 0 && value.tool_choice !== 'none') {
      const words = 'not with tools: an answer is of this form or a call';
      context.addIssue({ ...issue('unsupported_value', words), path: [format.param] });
    }
  });

export type ChatFields = z.output<typeof chatFields>;
