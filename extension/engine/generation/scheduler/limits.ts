import type { Priority } from '../types';

/**
 * A step that could hold up more urgent work, or others' decoding, lasts about this long: with sprout on two cores a
 * completion that arrives then runs within 15 ms.
 */
export const SLICE_MS = 12;
/** A step whose prefill nobody waits for; on a CPU long enough to read each weight from memory once for many rows. */
export const RELAXED_MS = 50;
/** More urgent requests come in bursts, a keystroke apart; so long after one, prefill stays in slices. */
export const RECENT_MS = 2000;
/**
 * What gives way to more urgent work still gets a slice this often, so that nothing stands still: rarely beside
 * completions, which are short; more often beside a chat, which may go on for minutes.
 */
export const PATIENCE_MS: Readonly<Record<Priority, number>> = {
  completion: 100,
  chat: 30,
  port: 30,
  background: 30,
};
/** Less urgent sequences decode along while a step takes at most this many times as long as that of one token. */
export const MAX_DECODE_SLOWDOWN = 1.5;
/** Fewer prefill tokens cost about as much as these, since the weights are read all the same. */
export const MIN_CHUNK = 16;

/** Requests that wait, by priority. More than a user makes; a program that sends more than this should wait itself. */
export const MAX_WAITING: Readonly<Record<Priority, number>> = {
  completion: 64,
  chat: 64,
  port: 256,
  background: 256,
};
