import { Emitter, type Disposable } from './lifecycle';

/** Completions are quiet for a while; forgotten when the window closes. */
export class Snooze implements Disposable {
  private until = 0;
  private timer: NodeJS.Timeout | undefined;
  private readonly emitter = new Emitter<boolean>();

  /** Fires with true at its start and with false at its end. */
  readonly onChange = this.emitter.event;

  get active(): boolean {
    return Date.now() < this.until;
  }

  /** Whole minutes left, at least one while it is active. */
  get minutesLeft(): number {
    return this.active ? Math.ceil((this.until - Date.now()) / 60_000) : 0;
  }

  start(minutes: number): void {
    clearTimeout(this.timer);
    this.until = Date.now() + minutes * 60_000;
    this.timer = setTimeout(() => this.end(), minutes * 60_000);
    this.emitter.fire(true);
  }

  end(): void {
    clearTimeout(this.timer);
    if (this.until === 0) return;
    this.until = 0;
    this.emitter.fire(false);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
