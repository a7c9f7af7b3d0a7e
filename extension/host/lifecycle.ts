/** Ownership of things that must be let go of, and of listeners. No import of 'vscode', whose types these fit. */
export interface Disposable {
  dispose(): void;
}

/** Disposes of what was added, last first. What is added after that is disposed of at once. */
export class DisposableStore implements Disposable {
  private readonly items: Disposable[] = [];
  private disposed = false;

  add<T extends Disposable>(item: T): T {
    if (this.disposed) item.dispose();
    else this.items.push(item);
    return item;
  }

  dispose(): void {
    this.disposed = true;
    for (let item = this.items.pop(); item; item = this.items.pop()) item.dispose();
  }
}

/** A part that is made, and its code loaded, when it is first wanted. */
export class Lazy<T extends Disposable> implements Disposable {
  private made: Promise<T> | null = null;

  constructor(private readonly make: () => Promise<T>) {}

  /** The same part for all. Rejects when it cannot be made; then the next one to ask tries again. */
  get(): Promise<T> {
    this.made ??= this.make().catch((error: unknown) => {
      this.made = null;
      throw error;
    });
    return this.made;
  }

  dispose(): void {
    this.made?.then(
      (part) => part.dispose(),
      () => undefined,
    );
  }
}

export class Emitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void): Disposable => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
}
