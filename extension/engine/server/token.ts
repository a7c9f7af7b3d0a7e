import { randomBytes } from 'node:crypto';

/** A token that cannot be guessed: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}
