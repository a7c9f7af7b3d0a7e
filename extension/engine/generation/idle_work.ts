/** What is done while nothing runs. */
export interface IdleWork {
  /** Steps follow. */
  wake(): void;
  /** No step follows for now. */
  rest(): void;
  /** Ends what is being done; no step follows. */
  close(): Promise<void>;
}
