import type { EngineStatus, LogEntry } from '../../protocol/engine';
import type { Method, Requests } from '../../protocol/messages';

export interface CallOptions<M extends Method> {
  readonly signal?: AbortSignal;
  readonly onPartial?: (partial: Requests[M]['partial']) => void;
}

export interface LinkEvents {
  readonly onStatus: (status: EngineStatus) => void;
  readonly onChatStatus: (status: EngineStatus) => void;
  readonly onLog: (entry: LogEntry) => void;
  /** The process has ended; `how` is its exit code or signal in words. Called once. */
  readonly onExit: (how: string) => void;
}

/** A running engine process. */
export interface EngineLink {
  readonly pid: number;
  /** Rejects with a ProtocolError; with 'unavailable' when the process ends first. */
  call<M extends Method>(
    method: M,
    params: Requests[M]['params'],
    options?: CallOptions<M>,
  ): Promise<Requests[M]['result']>;
  /** Asks the process to end and makes sure that it does. */
  stop(): Promise<void>;
}

/** Starts a process and says hello to it. Rejects with a ProtocolError; then no process is left. */
export type StartEngine = (events: LinkEvents) => Promise<EngineLink>;
