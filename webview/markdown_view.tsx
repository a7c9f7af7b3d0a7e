import { memo } from 'preact/compat';
import { useContext, useRef } from 'preact/hooks';
import { CodeBlock } from './code_block';
import { actOnCode, codeToolbar } from './code_toolbar';
import { post } from './host';
import type { MarkdownBlocks } from './markdown';
import { RenderingContext } from './rendering';

interface MarkdownViewProps {
  readonly text: string;
  /** More text may come. */
  readonly open: boolean;
}

export function MarkdownView({ text, open }: MarkdownViewProps) {
  const rendering = useContext(RenderingContext);
  const blocks = useRef<MarkdownBlocks | null>(null);
  if (rendering === null) return <p class="plain">{text}</p>;
  blocks.current ??= new rendering.MarkdownBlocks(codeToolbar());
  const list = blocks.current.update(text, open);
  return (
    <div class="markdown" onClick={(event) => follow(event)} onKeyDown={(event) => follow(event)}>
      {list.map((block, index) =>
        block.kind === 'code' ? (
          <CodeBlock
            key={index}
            code={block.code}
            language={block.language}
            highlight={rendering.highlight}
            open={open && index === list.length - 1}
          />
        ) : (
          <Html key={index} html={block.html} />
        ),
      )}
    </div>
  );
}

const Html = memo(function Html({ html }: { readonly html: string }) {
  return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
});

function follow(event: MouseEvent | KeyboardEvent): void {
  if (event instanceof MouseEvent && actOnCode(event)) return;
  if (event instanceof KeyboardEvent && event.key !== 'Enter') return;
  const link = event.target instanceof Element ? event.target.closest('a[data-url]') : null;
  const url = link?.getAttribute('data-url');
  if (url) post({ kind: 'link', url });
}
