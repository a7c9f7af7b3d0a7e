import type { ModelState } from '../extension/protocol/chat_view';
import { post } from './host';
import { Icon } from './parts';

interface WelcomeProps {
  readonly model: ModelState;
  readonly start: (text: string) => void;
}

const STARTERS: readonly { icon: string; text: string; label: string }[] = [
  { icon: 'comment-discussion', text: '/explain', label: 'Explain the selected code' },
  { icon: 'bug', text: '/fix', label: 'Find the bug in the selected code' },
  { icon: 'beaker', text: '/tests', label: 'Write tests for this file' },
];

export function Welcome({ model, start }: WelcomeProps) {
  if (model.state === 'none') {
    return (
      <section class="welcome">
        <h2>Chat needs a model of its own</h2>
        <p>
          The built-in model completes code and cannot chat. Choose an instruct model on this
          computer: a folder in Hugging Face format or a .gguf file.
        </p>
        <button type="button" onClick={() => post({ kind: 'chooseModel' })}>
          Choose a chat model
        </button>
      </section>
    );
  }
  return (
    <section class="welcome">
      <h2>Ask about your code</h2>
      <p>The answers come from {model.title}.</p>
      {STARTERS.map(({ icon, text, label }) => (
        <button key={text} type="button" class="starter" onClick={() => start(text)}>
          <Icon name={icon} /> {label}
        </button>
      ))}
    </section>
  );
}
