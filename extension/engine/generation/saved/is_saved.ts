import type { GenerateRequest } from '../types';

/** Whether a text is kept: conversations go on after a restart; what is typed meanwhile makes other prompts of completions. */
export function isSaved({ priority, hidden }: GenerateRequest): boolean {
  return (priority === 'chat' || priority === 'port') && hidden === undefined;
}
