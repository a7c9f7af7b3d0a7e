// @ts-check
/**
 * Writes .cache/generated/kernel_text.inc: the text of every .metal file with its headers put in place, as C++ that
 * native/metal/apple/kernel_source.cpp includes. Metal's compiler gets it at run time. usage: kernel-text.mjs
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { listFiles } from '../lib/content-hash.mjs';
import { Failure, isMain, root } from '../lib/process.mjs';

const output = path.join(root, '.cache', 'generated', 'kernel_text.inc');

/**
 * @param {string} file in metal/
 * @param {Set<string>} [seen] headers that are in the text already
 * @returns {string}
 */
export function flatten(file, seen = new Set()) {
  const text = readFileSync(path.join(root, 'metal', file), 'utf8').replace(/\/\*[^]*?\*\//g, '');
  return text
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('#pragma once')) return [];
      const header = /^#include "(.+)"/.exec(line)?.[1];
      if (header === undefined) return [line.replace(/\s*\/\/.*$/, '')];
      // Other devices' half of msl.h.
      if (header === 'msl_target.h' || seen.has(header)) return [];
      seen.add(header);
      return [flatten(header, seen)];
    })
    .filter((line) => line.trim() !== '')
    .join('\n');
}

/** @param {string} text of a .metal file */
export const kernelNames = (text) =>
  [...text.matchAll(/^KERNEL\((\w+),/gm)].map(([, name = '']) => name);

/** Writes the file unless it is there already as it should be. */
export function writeKernelText() {
  const sources = listFiles('metal', /\.metal$/).map((source) => {
    const file = path.basename(source);
    const text = flatten(file);
    const names = kernelNames(text);
    if (names.length === 0 || text.includes(')MSL"')) throw new Failure(`${source}: no kernel`);
    return `    {"${file}", " ${names.join(' ')} ", R"MSL(${text}\n)MSL"},\n`;
  });
  const text = `constexpr anllm::metal::apple::KernelSource kKernelSources[] = {\n${sources.join('')}};\n`;
  if (existsSync(output) && readFileSync(output, 'utf8') === text) return;
  mkdirSync(path.dirname(output), { recursive: true });
  writeFileSync(output, text);
}

if (isMain(import.meta.filename)) writeKernelText();
