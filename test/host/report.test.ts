import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemReport, type ReportFacts } from '../../extension/host/report';
import { parseSettings } from '../../extension/host/settings';

const SECRETS: Readonly<Record<string, unknown>> = {
  'engine.model': '/home/secret/model',
  'chat.model': '/home/secret/chat.gguf',
  'remote.url': 'http://secret.example:11434',
  'remote.model': 'secret-model',
  'models.hubUrl': 'https://secret.example',
  'server.allowedOrigins': ['http://secret.example'],
};

const facts: ReportFacts = {
  extension: '0.1.0',
  vscode: '1.139.1',
  host: 'desktop',
  remote: 'ssh-remote',
  platform: 'linux x64',
  node: '24.0.0',
  processors: '8 × Some | Chip',
  memoryBytes: 16 * 2 ** 30,
  isTrusted: false,
  completion: {
    state: 'failed',
    code: 'bad_model',
    message: '/home/secret/model/config.json: not JSON',
  },
  chat: {
    state: 'ready',
    memoryBytes: 5,
    engine: {
      model: '/home/secret/x',
      title: 'secret-model',
      modelDir: 'http://secret.example',
      backend: 'remote',
      backendDescription: 'http://secret.example, completion by infill',
      fallbackReason: '/home/secret/x.node',
      contextLength: 4096,
      threads: 0,
      loadMs: 1,
      hasFim: true,
      hasChatTemplate: true,
    },
  },
  settings: parseSettings((key) => SECRETS[key], '/home/secret/sprout'),
};

test('a report has the versions and states', () => {
  const report = problemReport(facts);
  for (const part of [
    '0.1.0',
    '1.139.1',
    'ssh-remote',
    '24.0.0',
    '16 GB',
    'failed: bad_model',
    'restricted',
  ]) {
    assert.ok(report.includes(part), part);
  }
  assert.match(report, /\| Processor \| 8 × Some \\\| Chip \|/);
});

test('a report has no path, no address, no name of a remote model, and no text of an error', () => {
  assert.doesNotMatch(problemReport(facts), /secret|not JSON/);
});
