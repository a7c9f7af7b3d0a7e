import { badModel } from './bad_model';
import type { StoredTensor, TensorPart } from './weights';

/** Rows of the whole tensor, each `cols` elements wide. */
export function rowsOfWhole(part: TensorPart, cols: number): number {
  return part.shape.reduce((product, size) => product * size, 1) / cols;
}

/**
 * The part of one stored tensor (`totalRows` rows of equal bytes, in whatever coding) as a tensor of its own: a window
 * of the file where the rows are neighbours, else a description for `gatherBytes`.
 */
export function selectRows(
  whole: StoredTensor,
  part: TensorPart,
  totalRows: number,
  shape: readonly number[],
): StoredTensor {
  const { start, length, stride, count } = part;
  const rowBytes = whole.byteLength / totalRows;
  const isInside = start + (count - 1) * stride + length <= totalRows;
  if (!isInside || !Number.isInteger(rowBytes)) {
    throw badModel(whole.file, `${whole.name}: ${totalRows} rows do not hold the expected part`);
  }
  const rows = count * length;
  const selected = { ...whole, shape, byteLength: rows * rowBytes };
  const isOnePiece = part.transposed !== true && (count === 1 || stride === length);
  return isOnePiece
    ? { ...selected, offset: whole.offset + start * rowBytes }
    : { ...selected, gather: { whole, part } };
}

/** The bytes of a gathered tensor, from the bytes of the whole one. */
export function gatherBytes(tensor: StoredTensor, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { gather } = tensor;
  const out = new Uint8Array(tensor.byteLength);
  if (gather === undefined) return out;
  const { start, length, stride, count, shape, transposed } = gather.part;
  const rowBytes = tensor.byteLength / (count * length);
  const row = transposed === true ? columnReader(shape, rowBytes) : rowReader(rowBytes);
  let at = 0;
  for (let run = 0; run < count; run++) {
    for (let i = 0; i < length; i++, at += rowBytes) row(bytes, start + run * stride + i, out, at);
  }
  return out;
}

type CopyRow = (from: Uint8Array, row: number, to: Uint8Array, at: number) => void;

function rowReader(rowBytes: number): CopyRow {
  return (from, row, to, at) => to.set(from.subarray(row * rowBytes, (row + 1) * rowBytes), at);
}

/** Row r of a [..., cols, rows] tensor is column r % rows of its matrix floor(r / rows). */
function columnReader(shape: readonly number[], rowBytes: number): CopyRow {
  const rows = shape.at(-1) ?? 1;
  const cols = shape.at(-2) ?? 1;
  const width = rowBytes / cols;
  return (from, row, to, at) => {
    const matrix = Math.floor(row / rows) * cols * rows;
    for (let c = 0; c < cols; c++) {
      const source = (matrix + c * rows + (row % rows)) * width;
      to.set(from.subarray(source, source + width), at + c * width);
    }
  };
}
