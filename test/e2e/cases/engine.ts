import assert from 'node:assert/strict';
import { until } from '../../until';
import type { Case } from '../suite';
import { DIVIDE, SUBTRACT } from './samples';

export const engineCases: readonly Case[] = [
  {
    name: 'typing through a suggestion sends no request',
    run: async (session) => {
      const { editor } = session;
      await session.open('typing-through.ts', SUBTRACT);
      await editor.type('ret');
      const ghost = await editor.waitForGhostText();
      const { requests } = await session.settled();
      const typed = ghost.slice(0, 4);
      await editor.type(typed, 60);
      await until('the rest of the ghost text', async () => {
        return (await editor.ghostText()) === ghost.slice(typed.length);
      });
      await session.staysQuiet(requests);
    },
  },
  {
    name: 'kill -9 of the engine while it works: the next completion comes from a new process',
    run: async (session) => {
      const { editor } = session;
      await session.open('kill.ts', SUBTRACT);
      await editor.type('re');
      await editor.waitForGhostText();
      const [engine] = session.engineProcesses();
      assert.ok(engine, 'an engine process runs');
      const { requests } = await session.settled();
      // Stopped first, so that the request is surely under way when the process dies.
      process.kill(engine.pid, 'SIGSTOP');
      await editor.type('x');
      await until('a request under way', async () => {
        const now = await session.counters();
        return now.requests > requests && now.pending > 0;
      });
      process.kill(engine.pid, 'SIGKILL');
      await session.open('after-kill.ts', DIVIDE);
      await editor.type('ret');
      await editor.waitForGhostText();
      const pids = session.engineProcesses().map(({ pid }) => pid);
      assert.equal(pids.length, 1);
      assert.notEqual(pids[0], engine.pid);
    },
  },
];
