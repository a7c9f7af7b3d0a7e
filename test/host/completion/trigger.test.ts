import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  whySkip,
  type SkipReason,
  type TriggerContext,
} from '../../../extension/host/completion/trigger';

const TYPING: TriggerContext = {
  enabled: true,
  languageEnabled: true,
  snoozed: false,
  scheme: 'file',
  invoked: false,
  cursors: 1,
  hasSelection: false,
  lineAfter: '',
  popup: false,
};

const cases: readonly [string, Partial<TriggerContext>, SkipReason | null][] = [
  ['typing at the end of a line', {}, null],
  ['before a closing bracket', { lineAfter: ')' }, null],
  ['before a blank', { lineAfter: ' + b' }, null],
  ['inside a word', { lineAfter: 'rest' }, 'inside_word'],
  ['before a digit', { lineAfter: '1' }, 'inside_word'],
  ['inside a word that is not English', { lineAfter: 'été' }, 'inside_word'],
  ['inside a word, but asked for', { lineAfter: 'rest', invoked: true }, null],
  ['inside a word that a selected item replaces', { lineAfter: 'rest', popup: true }, null],
  ['with several cursors', { cursors: 2 }, 'several_cursors'],
  ['with several cursors, asked for', { cursors: 2, invoked: true }, 'several_cursors'],
  ['with a selection', { hasSelection: true }, 'selection'],
  ['disabled', { enabled: false }, 'disabled'],
  ['disabled, asked for', { enabled: false, invoked: true }, 'disabled'],
  ['disabled for the language', { languageEnabled: false }, 'language_disabled'],
  ['snoozed', { snoozed: true }, 'snoozed'],
  ['an untitled document', { scheme: 'untitled' }, null],
  ['a cell of a notebook', { scheme: 'vscode-notebook-cell' }, null],
  ['a file of a remote', { scheme: 'vscode-remote' }, null],
  ['the chat input', { scheme: 'chatSessionInput' }, 'scheme'],
  ['a commit message', { scheme: 'vscode-scm' }, 'scheme'],
  ['the output panel', { scheme: 'output' }, 'scheme'],
  ['an old version in a diff', { scheme: 'git' }, 'scheme'],
];

describe('trigger', () => {
  for (const [name, context, want] of cases) {
    it(`${name}: ${want ?? 'asks'}`, () => assert.equal(whySkip({ ...TYPING, ...context }), want));
  }
});
