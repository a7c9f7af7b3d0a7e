import { badModel, firstFew, quote } from './bad_model';
import { countNonFinite } from './finite';
import { gatherBytes } from './tensor_part';
import type { StoredTensor, TensorIndex, TensorPart, Weight, WeightStore } from './weights';

/** The weights of a model, whatever file format they come in. */
export abstract class TensorStore implements WeightStore, TensorIndex {
  private readonly ignoredByModel: RegExp[] = [];
  private readonly used = new Set<string>();
  /** Tensors whose values must all be finite: one bad scale or norm weight poisons every token. */
  private readonly mustBeFinite = new Set<string>();

  /** `place`: the folder or file, for messages. */
  protected constructor(
    protected readonly place: string,
    private readonly ignored: (name: string) => boolean,
  ) {}

  abstract weight(name: string, rows: number, cols: number, part?: TensorPart): Weight;
  abstract shape(name: string): readonly number[] | null;
  abstract close(): void;
  protected abstract names(): Iterable<string>;
  /** The bytes of a tensor that lies in one piece in a file. */
  protected abstract bytes(tensor: StoredTensor): Uint8Array<ArrayBuffer>;

  has(name: string): boolean {
    return this.shape(name) !== null;
  }

  ignore(names: RegExp): void {
    this.ignoredByModel.push(names);
  }

  read(tensor: StoredTensor): Uint8Array<ArrayBuffer> {
    const { gather } = tensor;
    if (gather !== undefined) {
      const bytes = gatherBytes(tensor, this.read(gather.whole));
      return gather.values === undefined ? bytes : this.checked(tensor, logNegated(bytes));
    }
    const bytes = this.bytes(tensor);
    return this.mustBeFinite.has(tensor.name) ? this.checked(tensor, bytes) : bytes;
  }

  assertAllUsed(): void {
    const isIgnored = (name: string) =>
      this.ignored(name) || this.ignoredByModel.some((pattern) => pattern.test(name));
    const left = [...this.names()].filter((name) => !this.used.has(name) && !isIgnored(name));
    if (left.length > 0) {
      throw badModel(this.place, `tensors that the model does not use: ${firstFew(left)}`);
    }
  }

  /** Throws one error that counts all `names` that are missing, where `weight` would stop at the first. */
  assertPresent(names: readonly string[]): void {
    const missing = names.filter((name) => !this.has(name));
    if (missing.length > 0) throw badModel(this.place, `missing tensors: ${firstFew(missing)}`);
  }

  /** Marks a tensor as used; throws when there is none. */
  protected take<T>(name: string, tensors: ReadonlyMap<string, T>): T {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw badModel(this.place, `tensor ${quote(name)}: missing`);
    this.used.add(name);
    return tensor;
  }

  protected requireFinite(tensor: StoredTensor): void {
    this.mustBeFinite.add(tensor.name);
  }

  private checked(tensor: StoredTensor, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const bad = countNonFinite(tensor.dtype, bytes);
    if (bad === 0) return bytes;
    const count = tensor.shape.reduce((product, size) => product * size, 1);
    throw badModel(tensor.file, `${tensor.name}: ${bad} of ${count} values not finite`);
  }
}

/** ln(-x) of float32 values. */
function logNegated({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array<ArrayBuffer> {
  const values = new Float32Array(buffer, byteOffset, byteLength / 4);
  return new Uint8Array(values.map((value) => Math.log(-value)).buffer);
}

/** Throws unless the tensor has the expected shape. `type`: what the message calls its type. */
export function checkShape(
  tensor: { readonly file: string; readonly name: string; readonly shape: readonly number[] },
  type: string,
  expected: readonly number[],
): void {
  const isEqual = tensor.shape.every((size, i) => size === expected[i]);
  if (isEqual && tensor.shape.length === expected.length) return;
  const problem = `got ${type} [${tensor.shape.join(', ')}], expected [${expected.join(', ')}]`;
  throw badModel(tensor.file, `${tensor.name}: ${problem}`);
}
