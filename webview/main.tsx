import '@vscode/codicons/dist/codicon.css';
import * as l10n from '@vscode/l10n';
import { render } from 'preact';
import { useLanguage } from '../extension/protocol/numbers';
import { App } from './app';
import './style.css';

const root = document.getElementById('app');
if (root) {
  const { texts } = root.dataset;
  if (texts !== undefined) l10n.config({ contents: texts });
  useLanguage(document.documentElement.lang);
  render(<App />, root);
}
