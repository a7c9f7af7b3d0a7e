import assert from 'node:assert/strict';
import { until } from '../../until';
import type { Case } from '../suite';
import { DIVIDE, SUBTRACT } from './samples';

export const commandCases: readonly Case[] = [
  {
    name: 'the trigger command shows ghost text without typing',
    run: async (session) => {
      await session.open('trigger.ts', SUBTRACT.replace('█', 'return █'));
      assert.equal(await session.editor.ghostText(), '');
      await session.workbench.runCommand('anllm: Trigger Completion');
      assert.match(await session.editor.waitForGhostText(), /\w/);
    },
  },
  {
    name: 'disabled: typing sends no request and the engine process ends; enabled again, ghost text comes',
    run: async (session) => {
      const { editor, workbench } = session;
      await session.open('disable.ts', SUBTRACT);
      await editor.type('re');
      await editor.waitForGhostText();
      await workbench.runCommand('anllm: Disable Completions');
      await until('the engine process to end', () => session.engineProcesses().length === 0);
      await session.waitForStatus('anllm: completions are disabled');
      const before = await session.counters();
      await editor.type('turn a', 100);
      await session.staysQuiet(before.requests);
      assert.equal(await editor.ghostText(), '');
      assert.deepEqual(session.engineProcesses(), []);

      await workbench.runCommand('anllm: Enable Completions');
      await session.open('enable.ts', DIVIDE);
      await editor.type('ret');
      await editor.waitForGhostText();
      assert.equal(session.engineProcesses().length, 1);
    },
  },
];
