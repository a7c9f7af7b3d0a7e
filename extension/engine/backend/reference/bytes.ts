import { EngineError } from '../../errors';

/** The parts one after the other, in the order of this machine's bytes. */
export function joinFloats(parts: readonly Float32Array[]): Uint8Array {
  const floats = new Float32Array(bytesOf(parts) / 4);
  let at = 0;
  for (const part of parts) {
    floats.set(part, at);
    at += part.length;
  }
  return new Uint8Array(floats.buffer);
}

/** Puts what `joinFloats` gave into parts. Throws bad_request unless the bytes are just as many. */
export function splitFloats(
  bytes: Uint8Array,
  parts: readonly Float32Array[],
  place: string,
): void {
  const expected = bytesOf(parts);
  if (bytes.length !== expected) {
    throw new EngineError(
      'bad_request',
      `${place} bytes: got ${bytes.length}, expected ${expected}`,
    );
  }
  // A copy begins where floats may begin.
  const floats = new Float32Array(Uint8Array.from(bytes).buffer);
  let at = 0;
  for (const part of parts) {
    part.set(floats.subarray(at, at + part.length));
    at += part.length;
  }
}

/** Bytes of all parts. */
export function bytesOf(parts: readonly Float32Array[]): number {
  return parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Copies parts to others of the same lengths. */
export function copyFloats(from: readonly Float32Array[], to: readonly Float32Array[]): void {
  for (const [i, part] of from.entries()) to[i]?.set(part);
}
