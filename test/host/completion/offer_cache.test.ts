import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OfferCache, type Answer } from '../../../extension/host/completion/offer_cache';
import { snapshotAt } from './documents';

const offer = (text: string): Answer => ({ kind: 'offer', offer: { text, replaceAfter: 0 } });
const textOf = (answer: Answer | undefined): string | undefined =>
  answer?.kind === 'offer' ? answer.offer.text : undefined;

describe('cache of suggestions', () => {
  it('answers typing into a suggestion and deleting back into it', () => {
    const cache = new OfferCache();
    cache.add(snapshotAt('con▮\n'), offer('st x = 1;'));
    for (const typed of ['', 's', 'st ', 'st', 's', '']) {
      const hit = cache.find(snapshotAt(`con${typed}▮\n`));
      assert.equal(textOf(hit?.answer), 'st x = 1;'.slice(typed.length));
    }
  });

  it('does not answer after another edit', () => {
    const cache = new OfferCache();
    cache.add(snapshotAt('a();\ncon▮\nb();\n'), offer('st x'));
    assert.equal(cache.find(snapshotAt('a();\ncon▮\n')), null);
    assert.equal(cache.find(snapshotAt('con▮\nb();\n')), null);
  });

  it('does not answer in another language', () => {
    const cache = new OfferCache();
    const python = { ...snapshotAt('con▮\n'), languageId: 'python' };
    cache.add(snapshotAt('con▮\n'), offer('st x'));
    assert.equal(cache.find(python), null);
    cache.add(snapshotAt('a▮\n'), { kind: 'empty', reason: 'model_silent' });
    assert.equal(cache.find({ ...snapshotAt('a▮\n'), languageId: 'python' }), null);
  });

  it('knows where nothing is to be had, there only', () => {
    const cache = new OfferCache();
    cache.add(snapshotAt('a▮\n'), { kind: 'empty', reason: 'model_silent' });
    assert.deepEqual(cache.find(snapshotAt('a▮\n'))?.answer, {
      kind: 'empty',
      reason: 'model_silent',
    });
    assert.equal(cache.find(snapshotAt('ab▮\n')), null);
  });

  it('does not offer again what was accepted', () => {
    const cache = new OfferCache();
    const id = cache.add(snapshotAt('con▮\n'), offer('st'));
    assert.equal(cache.find(snapshotAt('con▮\n'))?.id, id);
    cache.remove(id);
    assert.equal(cache.find(snapshotAt('con▮\n')), null);
  });

  it('takes the newest answer of a place', () => {
    const cache = new OfferCache();
    cache.add(snapshotAt('a▮'), offer('old'));
    cache.add(snapshotAt('a▮'), offer('new'));
    assert.equal(textOf(cache.find(snapshotAt('a▮'))?.answer), 'new');
    assert.equal(cache.size, 1);
  });

  it('forgets what was not used for longest', () => {
    const cache = new OfferCache();
    for (let i = 0; i < 100; i++) cache.add(snapshotAt(`${i}:▮`), offer('x'));
    assert(cache.find(snapshotAt('0:▮')));
    cache.add(snapshotAt('new:▮'), offer('x'));
    assert(cache.find(snapshotAt('0:▮')), 'used a moment ago');
    assert.equal(cache.find(snapshotAt('1:▮')), null);
    assert.equal(cache.size, 100);
  });
});
