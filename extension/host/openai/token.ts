import { randomBytes } from 'node:crypto';

const SECRET = 'anllm.server.token';

/** The part of vscode.SecretStorage that is used. */
export interface Secrets {
  get(key: string): Thenable<string | undefined>;
  store(key: string, value: string): Thenable<void>;
}

/** The token of the server: made at its first start, and kept in the system's key store. */
export async function serverToken(secrets: Secrets): Promise<string> {
  const kept = await secrets.get(SECRET);
  if (kept !== undefined) return kept;
  const token = randomBytes(32).toString('base64url');
  await secrets.store(SECRET, token);
  return token;
}
