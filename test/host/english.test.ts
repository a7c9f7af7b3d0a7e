import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as l10n from '@vscode/l10n';
import { toEnglish } from '../../extension/host/english';
import { problemOf, statusProblem } from '../../extension/host/models/problems';
import { pseudoTexts } from '../pseudo';

describe('errors of the display language, in the log', () => {
  const GERMAN = {
    'open the file that the code belongs to first.':
      'öffnen Sie zuerst die Datei, zu der der Code gehört.',
    '{path} is not in the open folder: attach it.':
      'Im offenen Ordner ist {path} nicht: hängen Sie es an.',
    'the engine process ended ({how})': 'Der Prozess der Engine endete ({how})',
    'exit code {code}': 'Rückgabewert {code}',
    '{done} of {total}': '{done} von {total}',
  };
  const english = toEnglish(GERMAN);

  it('are English, with what was put into them', () => {
    assert.equal(
      english('chat view, code: öffnen Sie zuerst die Datei, zu der der Code gehört.'),
      'chat view, code: open the file that the code belongs to first.',
    );
    assert.equal(
      english('chat view, drop: Im offenen Ordner ist /a/b (1).ts nicht: hängen Sie es an.'),
      'chat view, drop: /a/b (1).ts is not in the open folder: attach it.',
    );
  });

  it('are so inside each other too', () => {
    assert.equal(
      english('Der Prozess der Engine endete (Rückgabewert 70)'),
      'the engine process ended (exit code 70)',
    );
  });

  it('stay as they are when they are none of ours, or nothing is translated', () => {
    for (const text of ['3 von 4', 'config.json: not JSON', '', 'x'.repeat(10_000)]) {
      assert.equal(english(text), text);
    }
    assert.equal(toEnglish({})('Der Prozess'), 'Der Prozess');
  });

  it('come back from every text of the network', () => {
    const back = toEnglish(pseudoTexts());
    const all = (): string[] => [
      ...[401, 403, 404, 500].map((status) => `org/x: ${statusProblem(status)}`),
      problemOf(Object.assign(new Error(''), { code: 'ENOTFOUND' }), 'https://hub.example'),
    ];
    const plain = all();
    l10n.config({ contents: pseudoTexts() });
    const translated = all();
    l10n.config({ contents: {} });
    assert.notDeepEqual(translated, plain);
    assert.deepEqual(translated.map(back), plain);
  });
});
