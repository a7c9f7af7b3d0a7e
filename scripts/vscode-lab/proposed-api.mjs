// @ts-check
/**
 * code-server opens every proposed API to every extension. A test would then pass that fails in VS Code, so this puts
 * the upstream check back: only an extension that lists a proposal in enabledApiProposals may use it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { filesBelow } from './files.mjs';

const mark = 'CANNOT use API proposal';
const id = String.raw`[\w$]+`;
const openGate = new RegExp(
  String.raw`function (${id})\((${id}),(${id})\)\{return!0\}` +
    String.raw`(?=function ${id}\(${id},${id}\)\{if\(!\1\(${id},${id}\)\)throw new Error\(` +
    String.raw`\`Extension '\$\{${id}\.identifier\.value\}' ${mark})`,
  'g',
);

/**
 * Restores the check in every bundle below `dir`. Throws when a bundle has none to restore: its shape has changed.
 * @param {string} dir
 * @returns {number} how many bundles were changed
 */
export function restoreProposedApiGates(dir) {
  const bundles = filesBelow(dir)
    .filter((file) => file.endsWith('.js'))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }))
    .filter(({ text }) => text.includes(mark));
  if (bundles.length === 0) throw new Error(`${dir}: no bundle checks proposed APIs`);
  for (const { file, text } of bundles) {
    const closed = text.replace(openGate, closedGate);
    if (closed === text) throw new Error(`${path.basename(file)}: no open proposed-API gate found`);
    writeFileSync(file, closed);
  }
  return bundles.length;
}

/** @param {string} _match @param {string} name @param {string} extension @param {string} proposal */
const closedGate = (_match, name, extension, proposal) =>
  `function ${name}(${extension},${proposal})` +
  `{return!!${extension}.enabledApiProposals?.includes(${proposal})}`;
