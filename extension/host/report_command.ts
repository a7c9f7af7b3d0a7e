import { cpus, release, totalmem } from 'node:os';
import * as vscode from 'vscode';
import type { Host } from './host';
import { problemReport } from './report';

/** Opens a report as an unsaved document: the user sees all of it, and nothing is sent. */
export async function reportProblem({ engine, configuration }: Host): Promise<void> {
  const manifest: unknown = vscode.extensions.getExtension('anllm.anllm')?.packageJSON;
  const { version = 'unknown' } = (manifest ?? {}) as { version?: string };
  const [processor] = cpus();
  const content = problemReport({
    extension: version,
    vscode: vscode.version,
    host: vscode.env.appHost,
    remote: vscode.env.remoteName,
    platform: `${process.platform} ${process.arch} ${release()}`,
    node: process.versions.node,
    processors: `${cpus().length} × ${processor?.model ?? 'unknown'}`,
    memoryBytes: totalmem(),
    isTrusted: vscode.workspace.isTrusted,
    completion: engine.status,
    chat: engine.chatStatus,
    settings: configuration.current,
  });
  const document = await vscode.workspace.openTextDocument({ content, language: 'markdown' });
  await vscode.window.showTextDocument(document);
}
