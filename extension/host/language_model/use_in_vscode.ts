import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { chooseModel } from '../chat/choose_model';
import type { Host } from '../host';
import { chatModelOf } from '../settings';
import { writeToSettingsFile } from './settings_file';

interface Change {
  readonly key: string;
  readonly value: unknown;
  /** What the setting does, as a clause. */
  readonly why: () => string;
}

/** What VS Code's own chat needs to run without an account, on a model of the user's. */
const CHANGES: readonly Change[] = [
  {
    key: 'chat.allowAnonymousAccess',
    value: true,
    why: () => l10n.t('it lets the chat work without an account.'),
  },
  {
    key: 'chat.byokUtilityModelDefault',
    value: 'mainAgent',
    why: () => l10n.t('it has titles and summaries written by the same model.'),
  },
];

/** Sets, when the user agrees, what VS Code's chat needs to use the chat model. */
export async function useInVsCode(host: Host): Promise<void> {
  const { configuration } = host;
  const lacksModel = (): boolean => chatModelOf(configuration.current.engine) === '';
  if (lacksModel()) await chooseModel(host);
  if (lacksModel()) return;
  const settings = vscode.workspace.getConfiguration();
  const runsWithoutAccount = canRunWithoutAccount(vscode.version);
  if (!runsWithoutAccount) {
    void vscode.window.showWarningMessage(
      l10n.t(
        'anllm: VS Code {version} asks for an account before its own chat runs; 1.122 and later do not. The anllm view and @anllm work without one.',
        { version: vscode.version },
      ),
    );
  }
  const wanted = CHANGES.filter(({ key, value }) => settings.get(key) !== value);
  const isListed = ({ key }: Change): boolean => settings.inspect(key)?.defaultValue !== undefined;
  const listed = wanted.filter(isListed);
  // An older VS Code does not know what it does not list.
  const hidden = runsWithoutAccount ? wanted.filter((change) => !isListed(change)) : [];
  const changes = [...listed, ...hidden];
  if (changes.length > 0 && !(await consent(changes))) return;
  for (const { key, value } of listed) {
    await settings.update(key, value, vscode.ConfigurationTarget.Global);
  }
  // An open settings file with changes would stop the updates, so it comes last.
  for (const { key, value } of hidden) await writeToSettingsFile(key, value);
  await vscode.commands.executeCommand('workbench.action.chat.open');
}

/** Since 1.122, of May 2026. */
function canRunWithoutAccount(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 1 || minor >= 122;
}

async function consent(changes: readonly Change[]): Promise<boolean> {
  const lines = changes.map(({ key, value, why }) => `${key}: ${JSON.stringify(value)}; ${why()}`);
  const change = l10n.t('Change settings');
  const choice = await vscode.window.showInformationMessage(
    l10n.t('Use the chat model for VS Code’s own chat?'),
    {
      modal: true,
      detail: [
        l10n.t('These of your settings are changed:'),
        lines.join('\n'),
        l10n.t('Pick the model in the chat’s model list.'),
      ].join('\n\n'),
    },
    change,
  );
  return choice === change;
}
