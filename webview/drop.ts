/** Files and folders of the explorer, dropped on the page. VS Code lets them through while Shift is held. */
import { useEffect, useState } from 'preact/hooks';
import { post } from './host';

/** The explorer's own list first: it has what the other leaves out. */
const TYPES = ['application/vnd.code.uri-list', 'text/uri-list'];
const MAX_DROPPED = 64;

/** @returns true while something hangs over the page that could be dropped there */
export function useDrop(): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const onDragOver = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.some((type) => TYPES.includes(type))) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    const onDragLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      setOver(false);
      const uris = event.dataTransfer ? urisOf(event.dataTransfer) : [];
      if (uris.length === 0) return;
      event.preventDefault();
      post({ kind: 'drop', uris });
    };
    document.addEventListener('dragover', onDragOver);
    document.addEventListener('dragleave', onDragLeave);
    document.addEventListener('drop', onDrop);
    return () => {
      document.removeEventListener('dragover', onDragOver);
      document.removeEventListener('dragleave', onDragLeave);
      document.removeEventListener('drop', onDrop);
    };
  }, []);
  return over;
}

function urisOf(data: DataTransfer): string[] {
  const list = TYPES.map((type) => data.getData(type)).find((text) => text !== '') ?? '';
  const lines = list.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
  return lines.slice(0, MAX_DROPPED);
}
