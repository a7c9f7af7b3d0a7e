import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after } from 'node:test';
import { EngineError, type EngineErrorCode } from '../../../extension/engine/errors';

export const FIXTURES = resolve(__dirname, '../../fixtures');
export const SPROUT = resolve(FIXTURES, '../../extension/assets/sprout');

/** A new folder that goes away after the tests of this file. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'anllm-loading-')));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** A well-formed safetensors file. */
export function safetensors(tensors: Readonly<Record<string, Entry>>): Buffer {
  let offset = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
      const begin = offset;
      offset += data.length;
      return [name, { dtype, shape, data_offsets: [begin, offset] }];
    }),
  );
  return withHeader(
    JSON.stringify(header),
    Buffer.concat(Object.values(tensors).map(({ data }) => data)),
  );
}

/** Any header, with its length before it. */
export function withHeader(
  header: string | Uint8Array,
  data: Uint8Array = new Uint8Array(),
): Buffer {
  const bytes = Buffer.from(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes, data]);
}

export const f32 = (shape: readonly number[], values?: readonly number[]): Entry => ({
  dtype: 'F32',
  shape,
  data: new Uint8Array(
    Float32Array.from(values ?? Array.from({ length: size(shape) }, (_, i) => i)).buffer,
  ),
});

export const u32 = (shape: readonly number[]): Entry => ({
  dtype: 'U32',
  shape,
  data: new Uint8Array(4 * size(shape)),
});

/** Writes files below `folder`; objects become JSON. Returns the folder. */
export function writeFiles(folder: string, files: Readonly<Record<string, unknown>>): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    const isRaw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(path, isRaw ? content : JSON.stringify(content));
  }
  return folder;
}

/** Asserts that `run` throws an EngineError of one line that has each of `parts`. */
export function assertFails(
  run: () => unknown,
  code: EngineErrorCode,
  ...parts: readonly string[]
): void {
  assert.throws(run, (error: unknown) => {
    assert.ok(error instanceof EngineError, `not an EngineError: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    assert.doesNotMatch(error.message, /[\r\n\0]/);
    for (const part of parts)
      assert.ok(error.message.includes(part), `"${error.message}" lacks "${part}"`);
    return true;
  });
}

function size(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}
