import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holdsSecrets } from '../../../extension/host/completion/secret_file';
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
  leaksSecrets: false,
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
  ['a file of secrets, for a server', { leaksSecrets: true }, 'secret_file'],
  ['a file of secrets, asked for', { leaksSecrets: true, invoked: true }, 'secret_file'],
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

describe('files of secrets', () => {
  const secret =
    '.env .env.local .ENV.production server.pem id_ed25519 .npmrc .aws/credentials secrets.yaml prod.tfvars';
  const open =
    '.env.example .envrc.ts env.ts id_rsa.pub credentials.ts secretary.json key.go .npmrc.md pem.txt';
  for (const name of secret.split(' ')) {
    it(name, () => assert(holdsSecrets(`/home/me/project/${name}`)));
  }
  for (const name of open.split(' ')) {
    it(`not ${name}`, () => assert(!holdsSecrets(`/home/.env/project/${name}`)));
  }
});
