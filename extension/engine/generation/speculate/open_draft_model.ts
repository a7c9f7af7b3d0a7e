import type { Backend, CompileOptions } from '../../backend/backend';
import { TableFiles } from '../../backend/table_files';
import { PagedCache } from '../../cache/paged';
import { fuse } from '../../core/fuse';
import { buildProgram } from '../../core/models/registry';
import { forContext } from '../../core/rope';
import { EngineError } from '../../errors';
import { openModel } from '../../loading/open_model';
import type { Tokenizer } from '../../loading/tokenizer';
import { DraftModel } from './draft_model';

export interface DraftModelOptions {
  /** Folder or file. */
  readonly path: string;
  readonly backend: Backend;
  /** As for the model that answers. */
  readonly compile: CompileOptions;
  /** Most answers in one step. */
  readonly maxRows: number;
  /** Of the model that answers. */
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
}

/** Loads a draft model. Throws as loading does, and bad_request when it could not guess for the model that answers. */
export async function openDraftModel(options: DraftModelOptions): Promise<DraftModel> {
  const { path, backend, compile, maxRows } = options;
  const model = openModel(path);
  try {
    const whole = fuse(buildProgram(model.config(), model.weights));
    const kept = compile.packed && new TableFiles(compile.packed.folder);
    const tokenizer = model.tokenizer(kept).within(whole.vocabSize);
    assertSameTokens(path, options.tokenizer, tokenizer);
    const contextLength = Math.min(options.contextLength, whole.contextLength);
    const program = forContext(whole, contextLength);
    if ((program.stateLayers ?? []).length > 0) {
      throw new EngineError(
        'bad_request',
        `draft model ${path}: ${program.model} has recurrent state, which cannot take back a wrong guess; choose another`,
      );
    }
    const executable = await backend.compile(program, model.weights, compile);
    const cache = new PagedCache({
      numBlocks: compile.kvBlocks,
      blockSize: backend.kvBlockSize,
      contextLength,
      copyBlocks: executable.copyBlocks && ((pairs) => executable.copyBlocks?.(pairs)),
    });
    const { vocabSize } = options.tokenizer;
    return new DraftModel({
      executable,
      cache,
      maxTokens: compile.maxTokens,
      maxRows,
      vocabSize: Math.min(vocabSize, tokenizer.vocabSize, program.vocabSize),
      now: () => performance.now(),
    });
  } finally {
    model.close();
  }
}

/** Each id has to stand for the same bytes in both, as far as both have it. */
export function assertSameTokens(path: string, own: Tokenizer, other: Tokenizer): void {
  const shared = Math.min(own.vocabSize, other.vocabSize);
  for (let id = 0; id < shared; id++) {
    const isSame =
      Buffer.compare(own.tokenBytes(id), other.tokenBytes(id)) === 0 &&
      own.isSpecial(id) === other.isSpecial(id);
    if (isSame) continue;
    const [ours, theirs] = [own, other].map((tokenizer) => JSON.stringify(tokenizer.decode([id])));
    throw new EngineError(
      'bad_request',
      `draft model ${path}: its token ${id} is ${theirs}, that of the model is ${ours}; choose a draft model of the same family`,
    );
  }
}
