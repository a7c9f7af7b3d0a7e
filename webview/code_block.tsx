import * as l10n from '@vscode/l10n';
import { memo } from 'preact/compat';
import type { CodeAction } from '../extension/protocol/chat_view';
import { codeActions, codeActionsLabel } from './code_toolbar';
import { post } from './host';
import { IconButton } from './parts';
import type { Rendering } from './rendering';

interface CodeBlockProps {
  readonly code: string;
  readonly language: string;
  readonly highlight: Rendering['highlight'];
  /** The model still writes in it. */
  readonly open: boolean;
}

export const CodeBlock = memo(function CodeBlock(props: CodeBlockProps) {
  const { code, language, highlight, open } = props;
  const lines = highlight(code, language);
  const label = language === '' ? l10n.t('Code') : l10n.t('Code, {language}', { language });
  const act = (action: CodeAction) => () => post({ kind: 'code', action, code, language });
  return (
    <figure class="code-block" aria-label={label}>
      <figcaption>
        <span class="language">{language}</span>
        {!open && (
          <span class="actions" role="group" aria-label={codeActionsLabel()}>
            {codeActions().map(({ action, icon, label }) => (
              <IconButton key={action} icon={icon} label={label} onClick={act(action)} />
            ))}
          </span>
        )}
      </figcaption>
      <pre tabIndex={0}>
        <code>
          {lines.map((html, index) => (
            <Line key={index} html={html} />
          ))}
        </code>
      </pre>
    </figure>
  );
});

/** Lines that stand are left alone while the ones below are written. */
const Line = memo(function Line({ html }: { readonly html: string }) {
  return <span class="line" dangerouslySetInnerHTML={{ __html: `${html}\n` }} />;
});
