import type { Case } from '../suite';
import { agentCase } from './agent';
import { chatCase } from './chat';
import { chatAttachCases } from './chat_attach';
import { chatSafetyCases } from './chat_safety';
import { chatViewCases } from './chat_view';
import { commandCases } from './commands';
import { documentCases } from './documents';
import { engineCases } from './engine';
import { inlineEditCases } from './inline_edit';
import { keyboardCase } from './keyboard';
import { languageCase } from './language';
import { modelCases } from './models';
import { activationCase, keystrokeCase } from './timing';
import { walkthroughCase } from './walkthrough';

/** In this order; each opens a file of its own. */
export const cases: readonly Case[] = [
  // First, while no view is open that would start beside it.
  activationCase,
  ...documentCases,
  ...commandCases,
  ...engineCases,
  chatCase,
  keystrokeCase,
  ...chatViewCases,
  ...chatAttachCases,
  ...chatSafetyCases,
  keyboardCase,
  ...inlineEditCases,
  walkthroughCase,
  ...modelCases,
  agentCase,
  languageCase,
];
