import { integer, list, object, text, type Check } from './check';

/** How the OpenAI-compatible server of the child is started. It listens on 127.0.0.1 alone. */
export interface ServerRequest {
  /** What clients take for its port: requests come through a relay in the host. */
  readonly publicPort: number;
  /** What clients must send. */
  readonly token: string;
  /** Web pages that may use it. */
  readonly origins: readonly string[];
}

/** Where the child's own server is. */
export interface ServerAddress {
  readonly port: number;
  /** Names of the models. */
  readonly models: readonly string[];
}

export const MAX_PORT = 65_535;
const MAX_ORIGINS = 64;
/** Open sockets, of the server and of the relay before it; idle ones beyond a client's pool are a mistake or an attack. */
export const MAX_CONNECTIONS = 512;
const name = text(4096);

export const checkServerRequest: Check<ServerRequest> = object<ServerRequest>({
  publicPort: integer(1, MAX_PORT),
  token: text(512),
  origins: list(text(256), MAX_ORIGINS),
});

export const checkServerAddress: Check<ServerAddress> = object<ServerAddress>({
  port: integer(1, MAX_PORT),
  models: list(name, 16),
});
