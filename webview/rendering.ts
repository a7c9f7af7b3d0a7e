/**
 * Markdown and the colours of code, most of what the page's code weighs. They come after the first paint; until then
 * an answer is plain text.
 */
import { createContext } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type * as markdown from './markdown';

export type Rendering = Pick<typeof markdown, 'MarkdownBlocks' | 'highlight'>;

/** Null until it is there. */
export const RenderingContext = createContext<Rendering | null>(null);

/** For the root of the page: an effect of a component runs after it was painted. */
export function useRendering(): Rendering | null {
  const [rendering, setRendering] = useState<Rendering | null>(null);
  useEffect(() => {
    // By the name of the built file, which stands beside the page's own.
    void import('./markdown.js').then(setRendering);
  }, []);
  return rendering;
}
