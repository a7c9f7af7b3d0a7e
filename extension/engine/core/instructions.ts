import type { Columns, Instruction, JoinSpec, ValueId } from './program';

type Rename = (id: ValueId) => ValueId;

/** The same instruction with every value that it reads and writes renamed. */
export function renameValues(i: Instruction, read: Rename, write: Rename): Instruction {
  const columns = <C extends Columns>(c: C): C => ({ ...c, value: read(c.value) });
  const optional = (id: ValueId | null) => (id === null ? null : read(id));
  const join = ({ residual, norm, sum }: JoinSpec): JoinSpec => ({
    residual: read(residual),
    norm,
    sum: write(sum),
  });
  switch (i.op) {
    case 'embed':
      return { ...i, out: write(i.out) };
    case 'norm': {
      const renamed = { ...i, x: read(i.x), out: write(i.out) };
      return {
        ...renamed,
        ...(i.gate && { gate: columns(i.gate) }),
        ...(i.residual !== undefined && { residual: read(i.residual) }),
      };
    }
    case 'linear': {
      const renamed = { ...i, x: read(i.x), residual: optional(i.residual), out: write(i.out) };
      return { ...renamed, ...(i.join && { join: join(i.join) }) };
    }
    case 'glu':
      return { ...i, x: read(i.x), ...(i.join && { join: join(i.join) }), out: write(i.out) };
    case 'rope':
    case 'scale':
    case 'gather_rows':
    case 'gated_delta':
    case 'moe_route':
      return { ...i, x: read(i.x), out: write(i.out) };
    case 'activation':
      return { ...i, gate: read(i.gate), up: optional(i.up), out: write(i.out) };
    case 'kv_write': {
      const renamed = { ...i, k: read(i.k), v: read(i.v) };
      return { ...renamed, ...(i.sharedKey !== undefined && { sharedKey: read(i.sharedKey) }) };
    }
    case 'attention_prepare':
      return { ...i, qkv: read(i.qkv), out: write(i.out) };
    case 'latent_prepare': {
      const [q, sharedKey] = [columns(i.q), columns(i.sharedKey)];
      return { ...i, q, kv: read(i.kv), sharedKey, out: write(i.out) };
    }
    case 'attention':
      return {
        ...i,
        q: read(i.q),
        ...(i.gate && { gate: columns(i.gate) }),
        out: write(i.out),
      };
    case 'moe_linear': {
      const renamed = { ...i, x: read(i.x), route: read(i.route), residual: optional(i.residual) };
      return { ...renamed, out: write(i.out) };
    }
    case 'moe_glu':
      return { ...i, x: read(i.x), route: read(i.route), out: write(i.out) };
    case 'add':
      return { ...i, a: read(i.a), b: read(i.b), out: write(i.out) };
  }
}

/** The values that an instruction reads, with repetitions. */
export function inputsOf(instruction: Instruction): ValueId[] {
  const ids: ValueId[] = [];
  const note = (id: ValueId) => (ids.push(id), id);
  renameValues(instruction, note, (id) => id);
  return ids;
}

/** The values that an instruction writes; none for kv_write. */
export function outputsOf(instruction: Instruction): ValueId[] {
  const ids: ValueId[] = [];
  const note = (id: ValueId) => (ids.push(id), id);
  renameValues(instruction, (id) => id, note);
  return ids;
}
