/**
 * Runs in the workbench's page before VS Code does. Reads the focused editor from the DOM, as a user sees it, and times
 * a keystroke from its keydown event to the frame that shows ghost text for the new text.
 */
(() => {
  const GHOST = '.ghost-text-decoration, .ghost-text-decoration-preview';
  const editor = () => document.querySelector('.editor-group-container.active .editor-instance');
  const plain = (text) => text.replaceAll('\u00a0', ' ');
  const top = (element) => Number.parseFloat(element.style.top);
  const byTop = (a, b) => top(a) - top(b);

  /** The lines in view from top to bottom, without ghost text. */
  function lines() {
    const views = editor()?.querySelectorAll('.view-lines > .view-line') ?? [];
    return [...views].sort(byTop).map((line) => {
      const copy = line.cloneNode(true);
      copy.querySelectorAll(GHOST).forEach((ghost) => ghost.remove());
      return plain(copy.textContent);
    });
  }

  /** Ghost text with its further lines; '' when none is shown. */
  function ghostText() {
    const root = editor();
    if (!root) return '';
    const inline = [...root.querySelectorAll(GHOST)].map((ghost) => ghost.textContent).join('');
    const below = [...root.querySelectorAll('.suggest-preview-text .view-line')].sort(byTop);
    return plain([inline, ...below.map((line) => line.textContent)].join('\n'));
  }

  /** What stands left of the ghost text on its line; null when none is shown there. */
  function textBeforeGhost() {
    const first = editor()?.querySelector(GHOST);
    if (!first) return null;
    let text = '';
    for (let node = first.previousSibling; node; node = node.previousSibling) {
      text = node.textContent + text;
    }
    return plain(text);
  }

  let waiting = null;

  /** Starts to wait for ghost text after `expected`, the cursor line left of the cursor once the key has arrived. */
  function armClock(expected) {
    waiting = { expected, pressedAt: null, shownAt: null };
  }

  /** Milliseconds from keydown to ghost text; null while it is not there. */
  function readClock() {
    return waiting?.shownAt ? waiting.shownAt - waiting.pressedAt : null;
  }

  document.addEventListener(
    'keydown',
    (event) => {
      if (waiting && waiting.pressedAt === null) waiting.pressedAt = event.timeStamp;
    },
    true,
  );

  // The editor changes the DOM in an animation frame, so the change and the frame that shows it are one.
  new MutationObserver(() => {
    if (!waiting || waiting.pressedAt === null || waiting.shownAt !== null) return;
    if (textBeforeGhost() === waiting.expected) waiting.shownAt = performance.now();
  }).observe(document, { subtree: true, childList: true, characterData: true });

  globalThis.anllmE2e = { lines, ghostText, armClock, readClock };
})();
