import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import type { Program } from '../program';

/** One model family; the file is called as config.json's model_type. */
export interface ModelFamily {
  readonly modelType: string;
  /**
   * Reads and checks the family's keys of config.json and writes the canonical program. `tensors` tells which of
   * several layouts a checkpoint has.
   */
  build(config: ConfigReader, tensors: TensorIndex): Program;
}
