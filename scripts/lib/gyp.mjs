// @ts-check
/** binding.gyp as data: the one list of the addon's sources and flags, for node-gyp, the cross-build and the linter. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { Failure, root } from './process.mjs';

/** @typedef {{ OS: 'linux' | 'mac', target_arch: 'x64' | 'arm64' }} Platform gyp's own names */
/** @typedef {Record<string, any>} Section */

/**
 * @typedef {object} CompileUnit
 * @property {string} target
 * @property {string} source relative to the root
 * @property {string[]} flags for a compiler that runs in the root
 */

/**
 * A gyp file is a literal whose strings, lists and maps read the same in JavaScript; only `#` comments do not.
 * @param {string} text
 * @returns {Section}
 */
export const parseGyp = (text) => runInNewContext(`(${text.replace(/^\s*#.*$/gm, '')})`);

/** @returns {Platform} */
export const hostPlatform = () => ({
  OS: process.platform === 'darwin' ? 'mac' : 'linux',
  target_arch: process.arch === 'arm64' ? 'arm64' : 'x64',
});

/** Lists grow, maps merge, other values replace. @param {Section} into @param {Section} from @returns {Section} */
function merge(into, from) {
  const result = { ...into };
  for (const [key, value] of Object.entries(from)) {
    const old = result[key];
    if (Array.isArray(old) && Array.isArray(value)) result[key] = [...old, ...value];
    else if (isSection(old) && isSection(value)) result[key] = merge(old, value);
    else result[key] = value;
  }
  return result;
}

/** @param {unknown} value @returns {value is Section} */
const isSection = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies `conditions`. @param {Section} section @param {Platform} platform @returns {Section} */
function settle(section, platform) {
  const { conditions = [], ...rest } = section;
  /** @type {readonly [string, Section, Section?][]} */
  const list = conditions;
  return list.reduce((result, [test, yes, no = {}]) => {
    const expression = test.replace(/\band\b/g, '&&').replace(/\bor\b/g, '||');
    const chosen = runInNewContext(expression, { ...platform }) ? yes : no;
    return merge(result, settle(chosen, platform));
  }, rest);
}

/** Puts variables in place of `<(name)` and `<@(name)`. @param {any} value @param {Section} variables @returns {any} */
function expand(value, variables) {
  if (typeof value === 'string') {
    return value.replace(/<@?\((\w+)\)/g, (match, name) => variables[name] ?? match);
  }
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const name = /^<@\((\w+)\)$/.exec(item)?.[1];
      return name === undefined ? [expand(item, variables)] : expand(variables[name], variables);
    });
  }
  if (!isSection(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expand(item, variables)]),
  );
}

/** Flags of one target for a compiler that runs in the project's root. @param {Section} target @param {Platform} platform */
function flagsOf(target, platform) {
  const xcode = target.xcode_settings ?? {};
  const standard = xcode.CLANG_CXX_LANGUAGE_STANDARD;
  const own =
    platform.OS === 'mac'
      ? [
          ...(standard === undefined ? [] : [`-std=${standard}`]),
          ...(xcode.OTHER_CFLAGS ?? []),
          ...(xcode.OTHER_CPLUSPLUSFLAGS ?? []),
        ]
      : [...(target.cflags ?? []), ...(target.cflags_cc ?? [])];
  // Headers from npm packages are found by a command in the file, and by -isystem in what calls this.
  const folders = (target.include_dirs ?? []).filter(
    (/** @type {string} */ d) => !d.startsWith('<!'),
  );
  return [
    ...own,
    ...(target.defines ?? []).map((/** @type {string} */ define) => `-D${define}`),
    ...folders.map((/** @type {string} */ folder) => `-I${folder}`),
  ];
}

/**
 * The addon's name and everything that is compiled into it: its own sources and those of the targets it depends on.
 * @param {string} text of a gyp file
 * @param {Platform} platform
 * @returns {{ name: string, units: CompileUnit[] }}
 */
export function evaluateGyp(text, platform) {
  const file = settle(parseGyp(text), platform);
  const common = settle(file.variables ?? {}, platform);
  /** @type {Map<string, Section>} */
  const targets = new Map();
  for (const raw of file.targets) {
    const target = settle(merge(file.target_defaults ?? {}, raw), platform);
    const variables = merge(common, settle(target.variables ?? {}, platform));
    targets.set(raw.target_name, expand(target, expand(variables, variables)));
  }
  const addon = [...targets.values()].find((target) => target.type !== 'static_library');
  if (addon === undefined) throw new Failure('binding.gyp has no target for the addon');
  const parts = [...targets.values()].filter(
    (target) => target === addon || (addon.dependencies ?? []).includes(target.target_name),
  );
  return {
    name: addon.target_name,
    units: parts.flatMap((target) =>
      (target.sources ?? []).map((/** @type {string} */ source) => ({
        target: target.target_name,
        source,
        flags: flagsOf(target, platform),
      })),
    ),
  };
}

/** The project's own binding.gyp. @param {Platform} [platform] */
export const readGyp = (platform = hostPlatform()) =>
  evaluateGyp(readFileSync(path.join(root, 'binding.gyp'), 'utf8'), platform);
