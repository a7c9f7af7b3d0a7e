import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from 'vscode-jsonrpc/node';
import { notify } from '../../protocol/peer';
import { Session, type LoadModel } from './session';

/** A clean-up that takes longer is not waited for. */
const EXIT_WITHIN_MS = 900;
/** Exit code after an error that nobody caught; sysexits' EX_SOFTWARE. */
export const EXIT_UNCAUGHT = 70;

/** Runs this process as the engine child of the process that forked it, until that one goes away or says shutdown. */
export function runChild(load: LoadModel): void {
  const connection = createMessageConnection(
    new IPCMessageReader(process),
    new IPCMessageWriter(process),
  );
  const session = new Session(connection, { load, exit: () => process.exit(0) });

  const leave = (): void => {
    setTimeout(() => process.exit(0), EXIT_WITHIN_MS).unref();
    void session.close().finally(() => process.exit(0));
  };
  process.once('disconnect', leave);
  process.once('SIGTERM', leave);

  const crash = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`${text}\n`);
    notify(connection, 'log', { level: 'error', message: text });
    // The channel needs a moment to carry the message.
    setTimeout(() => process.exit(EXIT_UNCAUGHT), 50);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  connection.listen();
}
