/** Serves the test API of anllm, and the texts of open files, as JSON on a local port; the port goes to the file of ANLLM_E2E_PROBE. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as vscode from 'vscode';

export function activate(context) {
  const extension = vscode.extensions.getExtension('anllm.anllm');
  const server = createServer((_request, response) => {
    const api = extension.isActive ? extension.exports : null;
    const documents = vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === 'file');
    const texts = Object.fromEntries(
      documents.map((each) => [each.uri.path.split('/').at(-1), each.getText()]),
    );
    const state = api && { counters: api.counters(), decisions: api.decisions(), texts };
    response.end(JSON.stringify(state ?? null));
  });
  context.subscriptions.push({ dispose: () => server.close() });
  server.listen(0, '127.0.0.1', () => {
    writeFileSync(process.env.ANLLM_E2E_PROBE, String(server.address().port));
  });
}
