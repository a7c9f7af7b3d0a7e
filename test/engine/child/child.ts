/** For tests that start an engine child. */
import type { LinkEvents } from '../../../extension/host/engine/link';
import { DEFAULT_FEATURES, type EngineSettings } from '../../../extension/protocol/engine';

/** An engine with the built-in choices and no model. */
export const SETTINGS: EngineSettings = {
  modelDir: '',
  chatModelDir: '',
  chatContextLength: 0,
  backend: 'auto',
  threads: 0,
  contextLength: 0,
  batchSize: 0,
  prefillStep: 0,
  sessionCache: 0,
  draftModelDir: '',
  kvBits: 16,
  idleMinutes: 0,
  features: DEFAULT_FEATURES,
  remote: null,
};

export const TSX = ['--import', 'tsx'];

export const unheard: LinkEvents = {
  onStatus: () => undefined,
  onChatStatus: () => undefined,
  onLog: () => undefined,
  onExit: () => undefined,
};
