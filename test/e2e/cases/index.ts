import type { Case } from '../suite';
import { agentCase } from './agent';
import { chatCase } from './chat';
import { chatAttachCases } from './chat_attach';
import { chatViewCases } from './chat_view';
import { commandCases } from './commands';
import { documentCases } from './documents';
import { engineCases } from './engine';
import { inlineEditCases } from './inline_edit';
import { keyboardCase } from './keyboard';
import { modelCases } from './models';
import { timingCases } from './timing';
import { walkthroughCase } from './walkthrough';

/** In this order; each opens a file of its own. */
export const cases: readonly Case[] = [
  ...documentCases,
  ...commandCases,
  ...engineCases,
  chatCase,
  ...timingCases,
  ...chatViewCases,
  ...chatAttachCases,
  keyboardCase,
  ...inlineEditCases,
  walkthroughCase,
  ...modelCases,
  agentCase,
];
