/** Where the focus goes when the control that has it leaves the page: a keyboard must not be nowhere. */
import { useEffect } from 'preact/hooks';

/** The input of the chat, or the search of its history. */
const HOME = '.composer textarea, .history input[type=search]';

export function useFocusHome(): void {
  useEffect(() => {
    let last: EventTarget | null = null;
    const onFocusIn = ({ target }: FocusEvent): void => {
      last = target;
    };
    // A removal also takes the focus away; after one that the user meant, the control is still there.
    const onFocusOut = ({ target }: FocusEvent): void => {
      setTimeout(() => {
        if (last === target && target instanceof Node && target.isConnected) last = null;
      });
    };
    const observer = new MutationObserver(() => {
      if (!(last instanceof Node) || last.isConnected) return;
      last = null;
      if (document.activeElement !== document.body || !document.hasFocus()) return;
      document.querySelector<HTMLElement>(HOME)?.focus();
    });
    observer.observe(document.body, { childList: true, subtree: true });
    document.addEventListener('focusin', onFocusIn);
    document.addEventListener('focusout', onFocusOut);
    return () => {
      observer.disconnect();
      document.removeEventListener('focusin', onFocusIn);
      document.removeEventListener('focusout', onFocusOut);
    };
  }, []);
}
