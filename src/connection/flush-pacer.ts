/**
 * Decides what may leave before the end of the run that issues it, so that client and server work
 * at the same time instead of in turns. One for all connections of the thread.
 *
 *   at once         a command of a connection on which nothing is in flight: the server has no work
 *   alone           the first command after a pause, when little is in flight and the thread is one
 *                   that waits: where callers come slowly, it would leave late, with the next one
 *   half-way        when the last read has answered many and little is in flight: those who were
 *                   answered ask again in the same run, and half of them are enough to go on with
 *   now and then    when the last write is so long ago that another costs little beside what the
 *                   thread has done since, and as much has gathered as half of what is in flight;
 *                   but not when the run ends soon and replies wait anyway
 *   bit by bit      less than that, when it took as long to gather, and the thread is one that
 *                   waits: with more on its way it would have answers to go on with
 *   at the end      everything else, in one write
 *
 * The price of a write is measured: the least that was seen lately, since whatever else the machine
 * does can only add. The clock is not looked at for every command, but as often as the pace of the
 * last ones asks for: the slower they come, the more a write between two of them is worth.
 */

import { WaitingShare } from "./waiting-share";

/** Least distance of two early writes, in prices. */
const PRICES_APART = 4;
const FIRST_PRICE_MS = 0.005;
const LEAST_PRICE_MS = 0.002;
const MOST_PRICE_MS = 0.025;
/** A price that was once low is forgotten in the course of some hundred writes. */
const FORGETTING = 1.01;
/** Larger writes tell the price of their bytes. */
const SMALL_BYTES = 16 * 1024;
/** Fewer commands than this are not worth two writes: one read of the server takes them all. */
const FEWEST_HALVED = 6;
/** Replies that wait for so many gaps wait for the server, or for this thread, and not for a write. */
const GAPS_QUEUED = 8;
/** An eighth of what is in flight is the least that leaves. */
const MOST_PARTS = 8;
/** Nothing was issued for so many gaps, 12 prices: a pause. */
const GAPS_PAUSED = 3;
/** With more than these in flight, the server has enough to go on with after a pause. */
const FEW_IN_FLIGHT = 16;
/** A thread that waits for events for less of its time has no use for answers that come earlier. */
const LEAST_WAITING = 0.1;
const FIRST_STRIDE = 8;
/** Most commands between two looks at the clock. */
const LONGEST_STRIDE = 16;

export class FlushPacer {
  /** Commands of booked connections until `isDue` is to be asked. */
  untilLook = FIRST_STRIDE;
  /** What `isDue` has let out last is the first half of those who were answered together. */
  isHalfWay = false;
  private stride = FIRST_STRIDE;
  /** Commands that were waited for since `strideMs`. */
  private counted = FIRST_STRIDE;
  private strideMs = 0;
  /** When the last write was over. */
  private writtenMs = 0;
  private priceMs = FIRST_PRICE_MS;
  /** When the first of those that gather was issued, or what was before them was written. */
  private gatheringMs = 0;
  /** So many make a write half-way; 0: none. */
  private half = 0;
  private readonly waiting: WaitingShare;

  /** @param idleMs For how long the thread has waited for events since it began. */
  constructor(
    private readonly clockMs: () => number,
    idleMs: () => number,
  ) {
    this.waiting = new WaitingShare(clockMs, idleMs);
  }

  /** Least time between a write and the next early one. */
  get gapMs(): number {
    return this.priceMs * PRICES_APART;
  }

  /**
   * Whether the first command of a flush may leave now. Otherwise it is booked, and those that
   * follow are counted.
   *
   * @param inFlight Commands of its connection that were written and are not answered.
   * @param answered Commands of its connection that the last read has answered.
   */
  isOpen(inFlight: number, answered: number): boolean {
    const nowMs = this.clockMs();
    const pauseMs = nowMs - this.strideMs;
    this.gatheringMs = nowMs;
    this.half = answered >= FEWEST_HALVED && inFlight * 2 < answered ? answered >> 1 : 0;
    this.count(nowMs, 1);
    if (nowMs - this.writtenMs < this.gapMs) return false;
    return isWorthwhile(1, inFlight) || this.isAloneWorthwhile(nowMs, pauseMs, inFlight);
  }

  /**
   * Whether what has gathered may leave now; to be asked at the end of a stride.
   *
   * @param toCome Callers whom the last read has answered and who have not asked again.
   * @param queuedMs How much longer a reply takes than the quickest one did.
   */
  isDue(gathered: number, inFlight: number, toCome: number, queuedMs: number): boolean {
    const nowMs = this.clockMs();
    const { gapMs } = this;
    const leftMs = gapMs - (nowMs - this.writtenMs);
    const tookMs = nowMs - this.strideMs;
    const endsSoon = toCome > 0 && toCome * tookMs < gapMs * this.counted;
    this.learn(tookMs, leftMs > 0 ? leftMs : gapMs);
    const isHalf = this.half > 0 && gathered >= this.half;
    this.isHalfWay = isHalf;
    if (isHalf) this.half = 0;
    this.count(nowMs, gathered);
    if (isHalf) return true;
    if (endsSoon && queuedMs > gapMs * GAPS_QUEUED) return false;
    if (leftMs > 0) return false;
    return isWorthwhile(gathered, inFlight) || this.isPartWorthwhile(nowMs, gathered, inFlight);
  }

  /** A socket has taken so many bytes. */
  noteWrite(startMs: number, byteCount: number): void {
    const nowMs = this.clockMs();
    this.writtenMs = nowMs;
    this.gatheringMs = nowMs;
    this.count(nowMs, 0);
    if (byteCount > SMALL_BYTES) return;
    const priceMs = Math.min(this.priceMs * FORGETTING, nowMs - startMs);
    this.priceMs = Math.min(MOST_PRICE_MS, Math.max(LEAST_PRICE_MS, priceMs));
  }

  private isAloneWorthwhile(nowMs: number, pauseMs: number, inFlight: number): boolean {
    if (inFlight > FEW_IN_FLIGHT || pauseMs < this.gapMs * GAPS_PAUSED) return false;
    return this.waiting.at(nowMs) >= LEAST_WAITING;
  }

  private isPartWorthwhile(nowMs: number, gathered: number, inFlight: number): boolean {
    if (nowMs - this.gatheringMs < this.gapMs || gathered * MOST_PARTS < inFlight) return false;
    return this.waiting.at(nowMs) >= LEAST_WAITING;
  }

  private count(nowMs: number, gathered: number): void {
    this.strideMs = nowMs;
    const { stride, half } = this;
    this.counted = half > gathered && half - gathered < stride ? half - gathered : stride;
    this.untilLook = this.counted;
  }

  /** At this pace, so many commands come until it is time. A slower pace counts at once, a faster one bit by bit. */
  private learn(tookMs: number, wantedMs: number): void {
    const commands = Math.round((wantedMs / tookMs) * this.counted);
    this.stride = Math.max(1, Math.min(commands, this.stride * 2, LONGEST_STRIDE));
  }
}

/** The more is in flight, the longer the server is busy without more. */
function isWorthwhile(gathered: number, inFlight: number): boolean {
  return gathered * 2 >= inFlight;
}
