/** The engine child process: started by the extension host, never imports 'vscode'. */
import { runChild } from './child/run';
import { heldLocally } from './child/local_engine';
import { loadEngine } from './load_engine';
import { resolveModel } from './loading/model_dir';
import { openRemote } from './remote/remote_engine';

runChild(async (settings, events) => {
  const { modelDir, backend, threads, contextLength, batchSize, prefillStep } = settings;
  const { features, remote, sessionCache, kvBits, draftModelDir } = settings;
  if (remote !== null) return openRemote({ ...remote, contextLength }, events.onProgress);
  const options = {
    modelDir: resolveModel(modelDir),
    backend,
    threads,
    precision: 'fast',
    calibration: 'when idle',
    features,
    sessionCache,
    kvBits,
    ...(draftModelDir !== '' && { draftModelDir: resolveModel(draftModelDir) }),
    ...(contextLength > 0 && { contextLength }),
    ...(batchSize > 0 && { batchSize }),
    ...(prefillStep > 0 && { prefillStep }),
  } as const;
  return heldLocally(await loadEngine(options, events));
});
