import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Lazy } from '../../extension/host/lifecycle';

/** A part that counts how often it was made and let go of. */
function counted() {
  const counts = { made: 0, disposed: 0 };
  const make = async () => {
    counts.made++;
    return { dispose: () => void counts.disposed++ };
  };
  return { counts, make };
}

describe('Lazy', () => {
  it('makes the part when it is first wanted, and once', async () => {
    const { counts, make } = counted();
    const lazy = new Lazy(make);
    assert.equal(counts.made, 0);
    const [one, other] = await Promise.all([lazy.get(), lazy.get()]);
    assert.equal(one, other);
    assert.equal(counts.made, 1);
  });

  it('lets go of the part, also of one that is still being made, and makes none for that', async () => {
    const unused = counted();
    new Lazy(unused.make).dispose();
    assert.equal(unused.counts.made, 0);

    const { counts, make } = counted();
    const lazy = new Lazy(make);
    const made = lazy.get();
    lazy.dispose();
    await made;
    assert.equal(counts.disposed, 1);
  });

  it('says why it could not make the part, and tries again', async () => {
    let attempts = 0;
    const lazy = new Lazy(async () => {
      attempts++;
      if (attempts === 1) throw new Error('no such file');
      return { dispose: () => undefined };
    });
    await assert.rejects(lazy.get(), /no such file/);
    await lazy.get();
    assert.equal(attempts, 2);
  });
});
