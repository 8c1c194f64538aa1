/**
 * Connects to the master or a replica of a group, and asks Sentinels for its address again for every
 * connection. Part of the public interface: users may subclass it and pass it as `Connector`.
 *
 * One round asks every known Sentinel once, beginning after the last one that was asked. When a round has
 * failed, `sentinelRetryStrategy` decides whether another one follows.
 */

import type { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { ConnectionClosedError, OptionError } from "../errors";
import { AbstractConnector, type ErrorEmitter, type ReadHooks } from "../link/connector";
import { LINK_DEFAULTS } from "../link/link-defaults";
import { retryDelay } from "../link/reconnection";
import { socketOptionsOf } from "../link/socket-options";
import { openSocket } from "../link/tcp-connector";
import { SentinelsUnreachableError } from "../part-errors";
import { reachable } from "../util/address-map";
import { debugLog } from "../util/debug";
import { addHint, markCertain } from "../util/error-hint";
import { clockMs, Delay, startTimer, stopTimer } from "../util/scheduling";
import { FailoverDetector, type FailoverDetectorOwner } from "./failover-detector";
import { chooseReplica, isUsable, readAddress, readEntries } from "./replica-choice";
import {
  describeSentinel,
  type SentinelClient,
  type SentinelClientFactory,
  sentinelClientOptions,
} from "./sentinel-client";
import { type SentinelAddress, SentinelIterator } from "./sentinel-list";
import { mistakeIn } from "./sentinel-mistakes";
import {
  type NodeAddress,
  type SentinelOptions,
  sentinelMaxConnections,
  sentinelReconnectStrategy,
  sentinelRetryStrategy,
} from "./sentinel-options";

const debug = debugLog("sentinel");

/** The delay before another Sentinel replaces a lost subscription. */
const RENEWAL_MS = 1000;
/** The time that Sentinels may need to learn of a new group or password. After it a mistake is certain. */
const LEARNING_MS = 3000;

export class SentinelConnector extends AbstractConnector implements FailoverDetectorOwner {
  /** Receives reports that are not errors; set by the client. */
  emitter: EventEmitter | null = null;
  protected readonly sentinelIterator: SentinelIterator;
  private createClient: SentinelClientFactory | null = null;
  /** Aborts the requests and delays of the last `connect()`, or of the last check for a new master. */
  private attempt: AbortController | null = null;
  private detector: FailoverDetector | null = null;
  /** The address of the current connection. */
  private address: NodeAddress | null = null;
  /** The Sentinel that returned it. */
  private answered: Partial<SentinelAddress> = {};
  private renewal: NodeJS.Timeout | undefined;

  constructor(protected readonly options: SentinelOptions) {
    super(options.disconnectTimeout);
    if (!options.sentinels?.length) throw new Error("Requires at least one sentinel to connect to.");
    if (!options.name) throw new Error("Requires the name of master.");
    const { role } = options;
    if (role !== undefined && role !== null && role !== "master" && role !== "slave")
      throw new OptionError(`Invalid option role "${role}": expected "master" or "slave"`);
    this.sentinelIterator = new SentinelIterator(options.sentinels);
  }

  /** Sets the factory of Sentinel connections; called by the client before the first `connect`. */
  useClients(createClient: SentinelClientFactory): void {
    this.createClient = createClient;
  }

  override async connect(emitError: ErrorEmitter, hooks?: ReadHooks): Promise<Duplex> {
    this.disconnect();
    const attempt = new AbortController();
    this.attempt = attempt;
    this.connecting = true;
    const address = await this.resolve(attempt.signal, emitError);
    this.address = address;
    if (this.options.failoverDetector) void this.detectFailovers();
    const { options } = this;
    const tls = options.enableTLSForSentinelMode ? options.tls : undefined;
    this.stream = openSocket({ ...socketOptionsOf(options), tls, ...address }, hooks);
    return this.stream;
  }

  override disconnect(): void {
    super.disconnect();
    this.stopListening();
  }

  override check(info: { role?: string }): boolean {
    const isRight = !info.role || info.role === (this.options.role ?? LINK_DEFAULTS.role);
    if (isRight && this.listensToOne && this.detector === null) void this.detectFailovers();
    return isRight;
  }

  /** True for a connection to a replica, because the replica may be the one that was promoted. */
  isElsewhere(master: NodeAddress | null): boolean {
    if (master === null || this.options.role === "slave") return true;
    return !this.leadsTo(reachable(master, this.options.natMap));
  }

  /** Half-closes, so that replies in flight still arrive. The link then reconnects. */
  onSwitch(sentinel: Partial<SentinelAddress>): void {
    // The other Sentinels may not know the new master yet.
    this.sentinelIterator.beginWith(sentinel);
    const socket = this.stream;
    if (socket === undefined || socket.destroyed) return;
    socket.end();
    const timer = startTimer(() => socket.destroy(), this.disconnectTimeout);
    socket.once("close", () => stopTimer(timer));
  }

  /** Called when the failover detector has lost a Sentinel. */
  onDetectorReconnecting(): void {
    this.emitter?.emit("sentinelReconnecting");
    if (!this.listensToOne) return;
    // It was the only subscribed Sentinel: another one replaces it.
    this.stopListening();
    this.renewal = startTimer(() => void this.listenAgain(), RENEWAL_MS);
  }

  private async resolve(signal: AbortSignal, emitError: ErrorEmitter): Promise<NodeAddress> {
    let lastError: Error | undefined;
    let mistakenSinceMs: number | null = null;
    for (let round = 1; ; round++) {
      const answers: (Error | undefined)[] = [];
      const address = await this.askAll(signal, (message, cause) => {
        answers.push(cause);
        lastError = cause ?? lastError;
        debug("%s", message);
        emitError("sentinelError", new Error(message, { cause }));
      });
      if (signal.aborted) throw new ConnectionClosedError();
      if (address !== null) return address;
      const mistake = mistakeIn(answers, String(this.options.name));
      mistakenSinceMs = mistake?.isCertain ? (mistakenSinceMs ?? clockMs()) : null;
      const { sentinelRetryStrategy: strategy = sentinelRetryStrategy } = this.options;
      const delayMs = retryDelay(strategy, round);
      const error = new SentinelsUnreachableError(delayMs, lastError);
      addHint(error, mistake?.hint);
      if (mistakenSinceMs !== null && clockMs() - mistakenSinceMs >= LEARNING_MS) markCertain(error);
      if (delayMs === null) throw error;
      emitError("error", error);
      await sleepUnless(signal, delayMs);
      if (signal.aborted) throw new ConnectionClosedError();
    }
  }

  /** One round. The list may grow meanwhile: Sentinels reported by others are asked too. */
  private async askAll(
    signal: AbortSignal,
    report: (message: string, cause?: Error) => void,
  ): Promise<NodeAddress | null> {
    for (let asked = 0; asked < this.sentinelIterator.size && !signal.aborted; asked++) {
      const sentinel = this.nextSentinel();
      const where = describeSentinel(sentinel);
      try {
        const address = await this.ask(signal, sentinel);
        if (address !== null) debug("%s told by %s", `${address.host}:${address.port}`, where);
        if (address !== null) this.answered = sentinel;
        if (signal.aborted || address !== null) return address;
        report(`connected to sentinel ${where} successfully, but got an invalid reply: null`);
      } catch (error) {
        if (signal.aborted) return null;
        const cause = error as Error;
        report(`failed to connect to sentinel ${where} because ${cause.message}`, cause);
      }
    }
    return null;
  }

  private nextSentinel(): Partial<SentinelAddress> {
    const step = this.sentinelIterator.next();
    if (!step.done) return step.value;
    this.sentinelIterator.reset(false);
    return this.sentinelIterator.next().value ?? {};
  }

  private async ask(signal: AbortSignal, sentinel: Partial<SentinelAddress>): Promise<NodeAddress | null> {
    const client = this.newClient(sentinel, null);
    client.on("error", () => {});
    signal.onabort = () => client.disconnect();
    try {
      const address =
        this.options.role === "slave" ? await this.askReplica(client) : await this.askMaster(client);
      return address === null ? null : reachable(address, this.options.natMap);
    } finally {
      signal.onabort = null;
      client.disconnect();
    }
  }

  private async askMaster(client: SentinelClient): Promise<NodeAddress | null> {
    const reply = await client.sentinel("get-master-addr-by-name", this.options.name as string);
    // The reply to an unknown name is null. The reply to the next request contains the reason.
    if (reply === null) await this.learnSentinels(client);
    // A Sentinel that may not list the others has returned the address of the master.
    else if (this.options.updateSentinels !== false) await this.learnSentinels(client).catch(() => {});
    return Array.isArray(reply) ? readAddress(reply[0], reply[1]) : null;
  }

  private async askReplica(client: SentinelClient): Promise<NodeAddress | null> {
    const reply = await client.sentinel("slaves", this.options.name as string);
    const replica = chooseReplica(readEntries(reply).filter(isUsable), this.options.preferredSlaves);
    return replica === null ? null : readAddress(replica.ip, replica.port);
  }

  private async learnSentinels(client: SentinelClient): Promise<void> {
    for (const entry of readEntries(await client.sentinel("sentinels", this.options.name as string))) {
      const address = readAddress(entry.ip, entry.port);
      if (address === null || entry.flags?.includes("disconnected")) continue;
      this.sentinelIterator.add(reachable(address, this.options.natMap));
    }
  }

  /**
   * By default it subscribes to one Sentinel that is available, if it is connected to a master, where writes
   * could be lost.
   */
  private get listensToOne(): boolean {
    const { failoverDetector, role } = this.options;
    return (failoverDetector ?? null) === null && role !== "slave";
  }

  private stopListening(): void {
    this.attempt?.abort();
    this.attempt = null;
    this.detector?.close();
    this.detector = null;
    stopTimer(this.renewal);
  }

  /**
   * Asks for the master, because a failover may have been announced without a subscription; then subscribes to
   * the next Sentinel.
   */
  private async listenAgain(): Promise<void> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const address = await this.askAll(attempt.signal, () => {});
    if (attempt.signal.aborted) return;
    if (address === null) this.onDetectorReconnecting();
    else if (this.leadsTo(address)) await this.detectFailovers();
    else this.onSwitch(this.answered);
  }

  private leadsTo({ host, port }: NodeAddress): boolean {
    return this.address?.host === host && this.address.port === port;
  }

  /**
   * Subscribes to the Sentinel that has just answered; with `failoverDetector: true` also to others, up to the
   * limit.
   */
  private async detectFailovers(): Promise<void> {
    const { sentinelReconnectStrategy: strategy = sentinelReconnectStrategy, role, name } = this.options;
    const sentinels = new Map(
      this.sentinelsToWatch().map((address) => [this.newClient(address, strategy), address]),
    );
    const detector = new FailoverDetector(sentinels, name as string, this);
    this.detector = detector;
    await detector.start(role !== "slave");
    if (this.detector === detector) this.emitter?.emit("failoverSubscribed");
    if (this.detector === detector && this.listensToOne) await this.askAgain(detector);
  }

  /**
   * A failover between the last answer and the subscription was not announced to this client, so it asks again.
   */
  private async askAgain(detector: FailoverDetector): Promise<void> {
    const sentinel = this.answered;
    const attempt = new AbortController();
    this.attempt = attempt;
    const address = await this.ask(attempt.signal, sentinel).catch(() => null);
    if (this.detector !== detector || address === null || this.leadsTo(address)) return;
    detector.close();
    this.onSwitch(sentinel);
  }

  private sentinelsToWatch(): Partial<SentinelAddress>[] {
    if (this.listensToOne) return [this.answered];
    const { sentinelIterator, options } = this;
    const length = Math.min(sentinelIterator.size, options.sentinelMaxConnections ?? sentinelMaxConnections);
    sentinelIterator.reset(true);
    const addresses = Array.from({ length }, () => this.nextSentinel());
    sentinelIterator.reset(false);
    return addresses;
  }

  private newClient(
    address: Partial<SentinelAddress>,
    retryStrategy: ((times: number) => unknown) | null,
  ): SentinelClient {
    if (this.createClient === null) throw new Error("A SentinelConnector connects only for a client");
    return this.createClient(sentinelClientOptions(address, this.options, retryStrategy));
  }
}

/** Resolves after the delay, or immediately when the attempt is given up. */
function sleepUnless(signal: AbortSignal, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const delay = new Delay(resolve, delayMs);
    signal.onabort = () => {
      delay.stop();
      resolve();
    };
  });
}
