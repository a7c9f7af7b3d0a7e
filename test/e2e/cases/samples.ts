/** Files in which the embedded model has something to say; █ is the cursor. */

export const SUBTRACT = `export function add(a: number, b: number): number {
  return a + b;
}

export function subtract(a: number, b: number): number {
  █
}
`;

export const DIVIDE = `export function multiply(x: number, y: number): number {
  return x * y;
}

export function divide(x: number, y: number): number {
  █
}
`;

export const CART = `interface Item {
  name: string;
  price: number;
  quantity: number;
}

export function totalPrice(items: Item[]): number {
  let total = 0;
  for (const item of items) {
    total += item.price * item.quantity;
  }
  return total;
}

export function averagePrice(items: Item[]): number {
  █
}

export function cheapest(items: Item[]): Item {
  return items.reduce((best, item) => (item.price < best.price ? item : best));
}
`;

/** Lines for averagePrice() that a model has an idea of: much is typed through suggestions. */
export const USUAL = ['const total = totalPrice(items);', 'const count = items.length;'];

/** Lines for the same place that no model sees coming: nearly every key is a request. */
export const HARD_TO_GUESS = [
  'const quokka = total ** 3 - 41;',
  'if (quokka > 77) zigzag(quokka, 9);',
];
