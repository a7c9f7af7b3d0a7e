import type { ComponentChildren } from 'preact';

interface IconButtonProps {
  readonly icon: string;
  /** Said to screen readers and shown on hover. */
  readonly label: string;
  readonly onClick: () => void;
  readonly children?: ComponentChildren;
}

export function IconButton({ icon, label, onClick, children }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" title={label} aria-label={label} onClick={onClick}>
      <Icon name={icon} />
      {children}
    </button>
  );
}

export function Icon({ name }: { readonly name: string }) {
  return <span class={`codicon codicon-${name}`} aria-hidden="true" />;
}
