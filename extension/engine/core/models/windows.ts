import type { ConfigReader } from '../../loading/config_reader';

/**
 * The attention window of every layer in tokens, null = all. `layer_types` says which layers slide; without it
 * `slides` does.
 */
export function readWindows(
  reader: ConfigReader,
  numLayers: number,
  slides: (layer: number) => boolean,
): (number | null)[] {
  const size = reader.optionalInt('sliding_window', { min: 1, max: 1 << 26 });
  const types = reader.optionalList('layer_types', ['full_attention', 'sliding_attention']);
  if (types !== null && types.length !== numLayers) {
    throw reader.error(`layer_types has ${types.length} entries, expected ${numLayers}`);
  }
  return Array.from({ length: numLayers }, (_, layer) => {
    const isSliding = types === null ? slides(layer) : types[layer] === 'sliding_attention';
    if (isSliding && size === null) {
      throw reader.error(`sliding_window: missing, but layer ${layer} slides`);
    }
    return isSliding ? size : null;
  });
}

/** Qwen2 and Qwen3: the window is off unless use_sliding_window, and then on from layer max_window_layers on. */
export function readQwenWindows(reader: ConfigReader, numLayers: number): (number | null)[] {
  const isOn = reader.bool('use_sliding_window', false);
  const first = reader.int('max_window_layers', { min: 0, max: 1 << 20 }, 0);
  return readWindows(reader, numLayers, (layer) => isOn && layer >= first);
}
