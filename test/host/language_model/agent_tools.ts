/** Tools as an agent of VS Code sends them along with every request: some fifty, 53 kB of names, descriptions and schemas. */

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

const SUBJECTS = [
  'file',
  'directory',
  'symbol',
  'terminal command',
  'notebook cell',
  'test',
  'search result',
  'diagnostic',
  'git change',
  'task',
];
const ACTIONS = ['read', 'list', 'create', 'replace', 'run'];

/** Fifty tools; each says what an agent's tools say: when to use it, when not, what it gives, and its parameters. */
export function agentTools(): AgentTool[] {
  return SUBJECTS.flatMap((subject) => ACTIONS.map((action) => toolOf(action, subject)));
}

function toolOf(action: string, subject: string): AgentTool {
  const name = `${action}_${subject.replaceAll(' ', '_')}`;
  return {
    name,
    description:
      `Use this tool to ${action} a ${subject} of the workspace. You must give the absolute path, and the reason for ` +
      `the call in one sentence that the user sees. If you need to ${action} more than one ${subject}, make the calls ` +
      `in parallel rather than one after the other. Do not use it when the ${subject} is already part of the ` +
      `conversation: it has not changed since, unless a later message says so. Long results are cut off at 2000 lines; ` +
      `ask for the next part with offset and limit.`,
    inputSchema: {
      type: 'object',
      properties: {
        filePath: {
          type: 'string',
          description: `The absolute path of the ${subject} to ${action}.`,
        },
        explanation: {
          type: 'string',
          description: `Why this ${subject} is needed, in one sentence.`,
        },
        offset: {
          type: 'number',
          description: 'The line to begin with, from 1. Default: the first.',
        },
        limit: { type: 'number', description: 'The most lines to return. Default: 2000.' },
        options: {
          type: 'object',
          properties: { isBackground: { type: 'boolean' }, includeIgnored: { type: 'boolean' } },
        },
      },
      required: ['filePath', 'explanation'],
    },
  };
}
