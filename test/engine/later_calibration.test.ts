import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CompileOptions } from '../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import { LaterCalibration, laterCalibration } from '../../extension/engine/later_calibration';
import { openModel } from '../../extension/engine/loading/open_model';
import { until } from '../until';
import { FIXTURES } from './loading/model_fixture';

const IDLE_MS = 5;
/** Timers that were set before have fired then. */
const otherTimers = () => delay(3 * IDLE_MS);

/** Calibrations that end when a test says so, or with an abort. */
class Calibrations {
  readonly signals: AbortSignal[] = [];
  end: (() => void)[] = [];
  isReady = true;
  readonly later = new LaterCalibration(
    (signal) =>
      new Promise((resolve, reject) => {
        this.signals.push(signal);
        this.end.push(resolve);
        signal.addEventListener('abort', () => reject(new Error('cancelled')));
      }),
    () => this.isReady,
    IDLE_MS,
  );
}

describe('a calibration while nothing runs', () => {
  test('begins after a while, ends with the next request, and begins again', async () => {
    const { later, signals, end } = new Calibrations();
    later.rest();
    later.wake();
    await otherTimers();
    assert.equal(signals.length, 0, 'something runs');
    later.rest();
    await until('calibration 1', () => signals.length === 1);
    later.wake();
    assert.equal(signals[0]?.aborted, true);
    later.rest();
    await until('calibration 2', () => signals.length === 2);
    end[1]?.();
    await otherTimers();
    later.wake();
    later.rest();
    await otherTimers();
    assert.equal(signals.length, 2, 'it is known now');
  });

  test('waits until the weights are packed', async () => {
    const calibrations = new Calibrations();
    calibrations.isReady = false;
    calibrations.later.rest();
    await otherTimers();
    assert.equal(calibrations.signals.length, 0);
    calibrations.isReady = true;
    await until('calibration 1', () => calibrations.signals.length === 1);
    await calibrations.later.close();
  });

  test('ends before the engine does, and does not begin again', async () => {
    const { later, signals } = new Calibrations();
    later.rest();
    await until('calibration 1', () => signals.length === 1);
    await later.close();
    assert.equal(signals[0]?.aborted, true);
    later.rest();
    await otherTimers();
    assert.equal(signals.length, 1);
  });
});

test('the next load has what was found out, this one stays as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-later-'));
  const path = join(FIXTURES, 'conformance/qwen3-mlx-q4-g64');
  const backend = loadNativeBackend();
  const options: CompileOptions = {
    precision: 'fast',
    kvBlocks: 8,
    maxTokens: 64,
    maxLogitRows: 8,
    threads: 2,
    packed: { folder, minBytes: 0 },
  };
  const described = openModel(path);
  const program = fuse(buildProgram(described.config(), described.weights));
  described.close();
  const compiled = { path, program, backend, options };
  const load = async () => {
    const model = openModel(path);
    const executable = await backend.compile(program, model.weights, {
      ...options,
      calibration: 'later',
    });
    model.close();
    return executable;
  };
  const first = await load();
  const open = first.openCalibration;
  let isFaster = false;
  const later = laterCalibration(compiled, open, () => (isFaster = true));
  assert.ok(later !== null && open !== undefined);
  await until('packed weights', () => open.isPacked());
  const notes = () => readdirSync(join(folder, 'packed')).filter((name) => name.endsWith('.note'));
  assert.deepEqual(notes(), []);
  later.rest();
  await until('a note', () => notes().length === 1);
  await later.close();
  assert.deepEqual(first.activationBits, { attention: 16, others: 16 });
  first.dispose();
  const second = await load();
  assert.equal(laterCalibration(compiled, second.openCalibration), null);
  assert.notEqual(second.activationBits, null);
  assert.equal(isFaster, second.activationBits?.others === 8);
  second.dispose();
  rmSync(folder, { recursive: true });
});
