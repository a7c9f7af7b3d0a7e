// @ts-check
import { createRequire } from 'node:module';
import path from 'node:path';

export const pngPackages = ['upng-js@2.1.0'];

/**
 * The picture with a palette of 256 colours: a third of the bytes, and a window's flat colours look the same.
 * @param {Buffer} png
 * @param {string} modules node_modules that has the packages
 */
export function withPalette(png, modules) {
  const upng = createRequire(path.join(modules, 'index.js'))('upng-js');
  const image = upng.decode(png);
  return Buffer.from(upng.encode(upng.toRGBA8(image), image.width, image.height, 256));
}
