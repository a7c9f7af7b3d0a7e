import { EngineError } from '../errors';

/**
 * Runs what talks to a server. Its errors, and those of Node for a header that cannot be sent, may quote the key: none of
 * them leaves here with it, since errors are shown, logged and reported.
 */
export async function hidingKey<T>(apiKey: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (apiKey === '' || !(error instanceof EngineError)) throw error;
    if (!error.message.includes(apiKey)) throw error;
    throw new EngineError(error.code, error.message.replaceAll(apiKey, '(the API key)'));
  }
}
