import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { buildRunner, canBuild } from './build.mjs';

/** Reason for skipping the tests of kernels, or false. */
export const skip = canBuild() ? false : 'needs Linux with a C++ compiler';

export type DType = 'f32' | 'f16' | 'bf16' | 'affine' | 'i8';
/** DType of metal/constants.h. */
export const DTYPE: Readonly<Record<DType, number>> = { f32: 0, f16: 1, bf16: 2, affine: 3, i8: 4 };

export type Bytes =
  Uint8Array | Int32Array | Uint32Array | Float32Array | Uint16Array | BigUint64Array;

/** A part of a request: an operand's numbers and buffers by the names that test/metal/runner/operands.cpp reads. */
export interface Fields {
  readonly numbers: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, Bytes>>;
}

export function merge(...parts: readonly Fields[]): Fields {
  const numbers: Record<string, number> = {};
  const inputs: Record<string, Bytes> = {};
  for (const part of parts) {
    Object.assign(numbers, part.numbers);
    Object.assign(inputs, part.inputs);
  }
  return { numbers, inputs };
}

export interface Request extends Fields {
  readonly op: string;
  readonly texts?: Readonly<Record<string, string>>;
  /** Byte length of each output. */
  readonly outputs?: Readonly<Record<string, number>>;
  /** Buffers that the op changes; they come back with the outputs. */
  readonly changed?: Readonly<Record<string, Bytes>>;
}

/** What a kernel did wrong, or what the encoder refused. */
export class RunnerError extends Error {}

/** The program of test/metal/runner: the ops of native/metal on the soft device, one request at a time. */
export class Runner {
  private readonly waiting: { resolve: (reply: Buffer) => void; reject: (error: Error) => void }[] =
    [];
  private received: Buffer[] = [];
  private receivedBytes = 0;

  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, null>) {
    child.stdout.on('data', (chunk: Buffer) => {
      this.received.push(chunk);
      this.receivedBytes += chunk.length;
      while (this.takeReply());
    });
    child.on('close', (code) => {
      for (const { reject } of this.waiting.splice(0))
        reject(new Error(`the runner ended with code ${code}`));
    });
  }

  /** `simdgroups`: how many the soft device says keep it busy; plans of dispatches depend on it. */
  static async start({ simdgroups }: { simdgroups?: number } = {}): Promise<Runner> {
    // Another device's runner, perhaps under a tool: words of a command.
    const given = process.env.ANLLM_METAL_RUNNER?.split(' ');
    const [program = '', ...words] = given ?? [
      await buildRunner({ sanitize: process.env.ANLLM_SANITIZE === '1' }),
    ];
    const env = { ...process.env };
    if (simdgroups !== undefined) env.ANLLM_SOFT_SIMDGROUPS = String(simdgroups);
    return new Runner(spawn(program, words, { env, stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  stop(): void {
    this.child.stdin.end();
  }

  /** The outputs and changed buffers by name. Throws RunnerError. */
  async run({
    op,
    texts = {},
    numbers,
    inputs,
    outputs = {},
    changed = {},
  }: Request): Promise<Record<string, Buffer>> {
    const lines = [`op ${op}`];
    for (const [name, value] of Object.entries(texts)) lines.push(`text ${name} ${value}`);
    for (const [name, value] of Object.entries(numbers)) lines.push(`number ${name} ${value}`);
    const parts: Uint8Array[] = [];
    const sizes: [string, number][] = [];
    for (const [name, data] of Object.entries(inputs)) {
      lines.push(`in ${name} ${data.byteLength}`);
      parts.push(bytesOf(data));
    }
    for (const [name, data] of Object.entries(changed)) {
      lines.push(`change ${name} ${data.byteLength}`);
      parts.push(bytesOf(data));
      sizes.push([name, data.byteLength]);
    }
    for (const [name, size] of Object.entries(outputs)) {
      lines.push(`out ${name} ${size}`);
      sizes.push([name, size]);
    }
    const header = Buffer.from(`${lines.join('\n')}\n`);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const reply = await new Promise<Buffer>((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.child.stdin.write(Buffer.concat([length, header, ...parts]));
    });
    const results: Record<string, Buffer> = {};
    let offset = 0;
    for (const [name, size] of sizes) {
      // A copy: typed arrays need aligned memory.
      results[name] = Buffer.from(new Uint8Array(reply.subarray(offset, offset + size)).buffer);
      offset += size;
    }
    return results;
  }

  private takeReply(): boolean {
    if (this.receivedBytes < 8) return false;
    const data =
      this.received.length === 1 ? (this.received[0] as Buffer) : Buffer.concat(this.received);
    this.received = [data];
    const status = data.readUInt32LE(0);
    const size = data.readUInt32LE(4);
    if (data.length < 8 + size) return false;
    const body = data.subarray(8, 8 + size);
    this.received = [data.subarray(8 + size)];
    this.receivedBytes -= 8 + size;
    const next = this.waiting.shift();
    if (status === 0) next?.resolve(body);
    else next?.reject(new RunnerError(body.toString()));
    return true;
  }
}

function bytesOf(data: Bytes): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
