import { findFim } from '../../../extension/engine/loading/fim';
import { readManifest } from '../../../extension/engine/loading/manifest';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';

const folder = new URL('../../../extension/assets/sprout', import.meta.url).pathname;

/** The embedded model's tokenizer and format; no weights. */
export const tokenizer = loadTokenizer(folder);
const declared = findFim(tokenizer, readManifest(folder));
if (declared === null) throw new Error('sprout declares no fill-in-the-middle format');
export const fim = declared;
