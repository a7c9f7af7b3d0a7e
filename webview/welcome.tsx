import * as l10n from '@vscode/l10n';
import type { ModelState } from '../extension/protocol/chat_view';
import { post } from './host';
import { Icon } from './parts';

interface WelcomeProps {
  readonly model: ModelState;
  readonly start: (text: string) => void;
}

const starters = (): readonly { icon: string; text: string; label: string }[] => [
  { icon: 'comment-discussion', text: '/explain', label: l10n.t('Explain the selected code') },
  { icon: 'bug', text: '/fix', label: l10n.t('Find the bug in the selected code') },
  { icon: 'beaker', text: '/tests', label: l10n.t('Write tests for this file') },
];

export function Welcome({ model, start }: WelcomeProps) {
  if (model.state === 'none') {
    return (
      <section class="welcome">
        <h2>{l10n.t('Chat needs a model of its own')}</h2>
        <p>
          {l10n.t(
            'The built-in model completes code and cannot chat. Download an instruct model that suits this computer, or choose one that is on it.',
          )}
        </p>
        <button type="button" onClick={() => post({ kind: 'chooseModel' })}>
          {l10n.t('Choose a chat model')}
        </button>
      </section>
    );
  }
  return (
    <section class="welcome">
      <h2>{l10n.t('Ask about your code')}</h2>
      <p>{l10n.t('The answers come from {model}.', { model: model.title })}</p>
      {model.state === 'failed' && (
        <p class="problem error">
          <Icon name="error" />
          <span>{model.detail}</span>
        </p>
      )}
      {starters().map(({ icon, text, label }) => (
        <button key={text} type="button" class="starter" onClick={() => start(text)}>
          <Icon name={icon} />
          <span>{label}</span>
        </button>
      ))}
      <p class="hint">
        {l10n.t(
          'Type / for commands and # for names of your code. Enter sends, Shift+Enter begins a new line.',
        )}
      </p>
    </section>
  );
}
