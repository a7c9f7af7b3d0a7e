import { PassThrough } from 'node:stream';
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

const quiet = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };

/** Two ends of one connection inside this process. */
export function connectedPair(): { host: MessageConnection; engine: MessageConnection } {
  const there = new PassThrough();
  const back = new PassThrough();
  const connect = (input: PassThrough, output: PassThrough): MessageConnection => {
    const reader = new StreamMessageReader(input);
    const connection = createMessageConnection(reader, new StreamMessageWriter(output), quiet);
    connection.listen();
    return connection;
  };
  return { host: connect(back, there), engine: connect(there, back) };
}
