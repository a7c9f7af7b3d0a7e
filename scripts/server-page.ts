/** npm run docs:server: writes docs/server.md from the server's own tables. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { serverPage } from './lib/server_page';

writeFileSync(resolve(__dirname, '../docs/server.md'), serverPage());
