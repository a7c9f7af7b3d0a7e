import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { suite, test } from 'mocha';
import * as vscode from 'vscode';
import { until } from '../until';
import { testApi } from './support';

/** A picture that VS Code itself can read: it does so on the way. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The tests run with a chat model that says the last message again. */
async function model(): Promise<vscode.LanguageModelChat> {
  await testApi();
  return await until('the model', async () => {
    const [first] = await vscode.lm.selectChatModels({ vendor: 'anllm' });
    return first;
  });
}

async function say(text: string, token?: vscode.CancellationToken): Promise<string> {
  const messages = [vscode.LanguageModelChatMessage.User(text)];
  const response = await (await model()).sendRequest(messages, {}, token);
  let answer = '';
  for await (const part of response.text) answer += part;
  return answer;
}

suite('language model', () => {
  test('VS Code lists it before it is loaded', async () => {
    const { name, family, maxInputTokens } = await model();
    assert.deepEqual([name.length > 0, family], [true, 'anllm']);
    assert.ok(maxInputTokens > 1000, `${maxInputTokens} tokens`);
  });

  test('it answers any extension', async () => {
    assert.equal(await say('Say this: one, two, three.'), 'Say this: one, two, three.');
  });

  test('it calls a tool, and reads the result', async () => {
    const chat = await model();
    const question = vscode.LanguageModelChatMessage.User(
      '<tool_call>{"name": "list_dir", "arguments": {"path": "/work"}}</tool_call>',
    );
    const tool = {
      name: 'list_dir',
      description: 'Lists a folder',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    };
    const response = await chat.sendRequest([question], { tools: [tool] });
    const parts: unknown[] = [];
    for await (const part of response.stream) parts.push(part);
    const call = parts.find((part) => part instanceof vscode.LanguageModelToolCallPart);
    assert.ok(call, JSON.stringify(parts));
    assert.deepEqual([call.name, call.input], ['list_dir', { path: '/work' }]);

    const result = new vscode.LanguageModelToolResultPart(call.callId, [
      new vscode.LanguageModelTextPart('Say this: one, two, three.'),
    ]);
    const messages = [
      question,
      vscode.LanguageModelChatMessage.Assistant([call]),
      vscode.LanguageModelChatMessage.User([result]),
    ];
    const next = await chat.sendRequest(messages, { tools: [tool] });
    let answer = '';
    for await (const text of next.text) answer += text;
    assert.match(answer, /one, two, three/);
  });

  test('a call that is required comes, with arguments of the schema, whatever the model would say', async () => {
    const chat = await model();
    const question = vscode.LanguageModelChatMessage.User('Say this: one, two, three.');
    const tool = {
      name: 'set_level',
      description: 'Sets the level',
      inputSchema: {
        type: 'object',
        properties: { level: { enum: ['low', 'high'] } },
        required: ['level'],
        additionalProperties: false,
      },
    };
    const toolMode = vscode.LanguageModelChatToolMode.Required;
    const response = await chat.sendRequest([question], { tools: [tool], toolMode });
    const calls: vscode.LanguageModelToolCallPart[] = [];
    for await (const part of response.stream) {
      if (part instanceof vscode.LanguageModelToolCallPart) calls.push(part);
    }
    assert.equal(calls.length, 1);
    const { level } = calls[0]?.input as { level?: string };
    assert.deepEqual([calls[0]?.name, ['low', 'high'].includes(level ?? '')], ['set_level', true]);
  });

  test('a request as long as an agent’s that does not fit is refused with the numbers', async () => {
    const chat = await model();
    const question = vscode.LanguageModelChatMessage.User('What a tool does. '.repeat(3000));
    await assert.rejects(
      async () => {
        const response = await chat.sendRequest([question], {});
        for await (const part of response.text) assert.fail(part);
      },
      ({ message }: Error) =>
        /has \d+ tokens, and \d+ fit.*raise the context length/.test(message) ||
        assert.fail(message),
    );
  });

  test('10,000 token counts take less than a few seconds', async () => {
    const chat = await model();
    const started = performance.now();
    let sum = 0;
    for (let at = 0; at < 10_000; at += 100) {
      const texts = Array.from({ length: 100 }, (_, index) => `word ${at + index}`);
      const counts = await Promise.all(texts.map((text) => chat.countTokens(text)));
      sum += counts.reduce((a, b) => a + b, 0);
    }
    assert.ok(sum > 10_000);
    const elapsed = performance.now() - started;
    assert.ok(elapsed < 8000, `${elapsed.toFixed(0)} ms`);
  });

  test('a picture is refused in words', async () => {
    const chat = await model();
    const picture = vscode.LanguageModelDataPart.image(Buffer.from(PIXEL, 'base64'), 'image/png');
    const message = vscode.LanguageModelChatMessage.User([picture]);
    await assert.rejects(
      async () => {
        const response = await chat.sendRequest([message]);
        for await (const part of response.text) assert.fail(part);
      },
      (error: Error) => /pictures/.test(error.message) || assert.fail(inspect(error)),
    );
  });
});

suite('tools', () => {
  const call = async (name: string, input: object): Promise<string> => {
    await testApi();
    const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    const [part] = result.content;
    assert.ok(part instanceof vscode.LanguageModelTextPart);
    return part.value;
  };

  test('the code of the workspace is searched', async () => {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(folder);
    const file = vscode.Uri.joinPath(folder.uri, 'searched.ts');
    await vscode.workspace.fs.writeFile(file, new TextEncoder().encode('a\nlet Needle42 = 1;\n'));
    try {
      const found = await until('the line', async () => {
        const text = await call('anllm_search_code', { text: 'needle42' });
        return text.includes(':2:') ? text : null;
      });
      assert.equal(found, 'searched.ts:2: let Needle42 = 1;');
      assert.match(await call('anllm_search_code', { text: 'nothing has this' }), /^No line of/);
    } finally {
      await vscode.workspace.fs.delete(file);
    }
  });

  test('the problems of a file are listed', async () => {
    const document = await vscode.workspace.openTextDocument({ content: 'let x = y;\n' });
    const problems = vscode.languages.createDiagnosticCollection('test');
    const range = new vscode.Range(0, 8, 0, 9);
    problems.set(document.uri, [new vscode.Diagnostic(range, 'y is not defined')]);
    try {
      const path = vscode.workspace.asRelativePath(document.uri);
      assert.equal(await call('anllm_problems', { path }), `${path}:1: Error: y is not defined`);
    } finally {
      problems.dispose();
    }
  });
});

suite('light bulb', () => {
  test('a problem is fixed and explained in the chat', async () => {
    await model();
    const document = await vscode.workspace.openTextDocument({ content: 'let x = y;\n' });
    const problems = vscode.languages.createDiagnosticCollection('test');
    const range = new vscode.Range(0, 8, 0, 9);
    problems.set(document.uri, [new vscode.Diagnostic(range, 'y is not defined')]);
    try {
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        'vscode.executeCodeActionProvider',
        document.uri,
        range,
      );
      const titles = actions.map(({ title }) => title);
      assert.ok(titles.includes('Fix with anllm'), titles.join());
      assert.ok(titles.includes('Explain with anllm'), titles.join());
    } finally {
      problems.dispose();
    }
  });
});
