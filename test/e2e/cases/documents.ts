import assert from 'node:assert/strict';
import type { Session } from '../session';
import type { Case } from '../suite';
import { SUBTRACT } from './samples';

const TYPED = 'ret';

/** Types, takes the ghost text with Tab, saves. @returns the file and the text that it must have */
async function typeAcceptSave(session: Session, name: string, text: string): Promise<string[]> {
  const { editor, workbench } = session;
  await session.open(name, text);
  await editor.type(TYPED);
  const ghost = await editor.waitForGhostText();
  await editor.press('Tab');
  await editor.waitForNoGhostText();
  await workbench.save();
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const inserted = `${TYPED}${ghost}`.replaceAll('\n', eol);
  return [session.sandbox.read(name), text.replace('█', inserted)];
}

export const documentCases: readonly Case[] = [
  {
    name: 'typing shows ghost text; Tab and save put it on disk',
    run: async (session) => {
      const [onDisk, expected] = await typeAcceptSave(session, 'accept.ts', SUBTRACT);
      assert.equal(onDisk, expected);
      await session.waitForStatus('anllm: ready');
    },
  },
  {
    name: 'a file with CRLF keeps CRLF',
    run: async (session) => {
      const text = SUBTRACT.replaceAll('\n', '\r\n');
      const [onDisk, expected] = await typeAcceptSave(session, 'crlf.ts', text);
      assert.equal(onDisk, expected);
    },
  },
  {
    name: 'an untitled file gets ghost text',
    run: async ({ editor, workbench }) => {
      await workbench.newUntitledFile();
      await editor.type('import os\nimport sys\nimport ');
      const ghost = await editor.waitForGhostText();
      await editor.press('Tab');
      await editor.waitForLine(`import ${ghost.split('\n')[0]}`);
    },
  },
];
