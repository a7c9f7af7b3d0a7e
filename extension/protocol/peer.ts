import {
  NotificationType,
  ProgressType,
  RequestType,
  ResponseError,
  type CancellationToken,
  type Disposable,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { ERROR_CODES, ProtocolError, type ErrorCode } from './errors';
import {
  checkEnvelope,
  notificationChecks,
  requestChecks,
  type Envelope,
  type Method,
  type Notifications,
  type Requests,
  type Topic,
} from './messages';

/** The number that JSON-RPC wants; the code that matters travels in `data`. */
const RPC_ERROR = -32000;
const partialType = new ProgressType<unknown>();
let nextToken = 0;

export interface CallOptions<M extends Method> {
  readonly token?: CancellationToken;
  readonly onPartial?: (partial: Requests[M]['partial']) => void;
}

/** Sends a request and checks what comes back. Rejects with a ProtocolError. */
export async function call<M extends Method>(
  connection: MessageConnection,
  method: M,
  params: Requests[M]['params'],
  options: CallOptions<M> = {},
): Promise<Requests[M]['result']> {
  const checks = requestChecks[method];
  const partialToken = `${method}:${nextToken++}`;
  const { onPartial, token } = options;
  const listener =
    onPartial &&
    connection.onProgress(partialType, partialToken, (value) => {
      onPartial(checks.partial(value, method));
    });
  const type = new RequestType<Envelope, unknown, unknown>(method);
  try {
    return checks.result(
      await connection.sendRequest(type, { params, partialToken }, token),
      method,
    );
  } catch (error) {
    throw asProtocolError(error);
  } finally {
    listener?.dispose();
  }
}

export interface HandlerContext<M extends Method> {
  readonly token: CancellationToken;
  readonly partial: (value: Requests[M]['partial']) => void;
}

/** Answers one method; what the handler throws goes back as an error with its code. */
export function handle<M extends Method>(
  connection: MessageConnection,
  method: M,
  handler: (
    params: Requests[M]['params'],
    context: HandlerContext<M>,
  ) => Promise<Requests[M]['result']>,
): Disposable {
  const type = new RequestType<unknown, unknown, unknown>(method);
  return connection.onRequest(type, async (raw, token) => {
    try {
      const envelope = checkEnvelope(raw, method);
      const params = requestChecks[method].params(envelope.params, method);
      const partial = (value: Requests[M]['partial']): void => {
        // A connection that just closed is noticed by its owner; a lost partial result is no news.
        connection.sendProgress(partialType, envelope.partialToken, value).catch(() => undefined);
      };
      return await handler(params, { token, partial });
    } catch (error) {
      const { code, message } = asProtocolError(error);
      return new ResponseError(RPC_ERROR, message, { code });
    }
  });
}

export function notify<T extends Topic>(
  connection: MessageConnection,
  topic: T,
  value: Notifications[T],
): void {
  connection
    .sendNotification(new NotificationType<Notifications[T]>(topic), value as never)
    .catch(() => undefined);
}

export function onNotify<T extends Topic>(
  connection: MessageConnection,
  topic: T,
  listener: (value: Notifications[T]) => void,
): Disposable {
  return connection.onNotification(new NotificationType<unknown>(topic), (value) =>
    listener(notificationChecks[topic](value, topic)),
  );
}

/** Any thrown value as a ProtocolError: its own, another error with one of our codes, or 'internal'. */
export function asProtocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ResponseError) {
    const code = codeOf(error.data);
    // Without a code of ours the connection itself gave up: closed, disposed, or a method that it does not know.
    return new ProtocolError(code ?? 'unavailable', message);
  }
  return new ProtocolError(codeOf(error) ?? 'internal', message);
}

function codeOf(holder: unknown): ErrorCode | undefined {
  const code: unknown =
    typeof holder === 'object' && holder !== null && 'code' in holder ? holder.code : undefined;
  return ERROR_CODES.find((known) => known === code);
}
