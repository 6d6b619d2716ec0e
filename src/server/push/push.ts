import { randomUUID, timingSafeEqual } from "node:crypto";
import { pushDevice, type PushDevice, type PushSent } from "../../types/answers/push.ts";
import type { Clock } from "../../types/clock.ts";
import type { PairingRequest } from "../../types/answers/pairing.ts";
import type { Log } from "../../types/log.ts";
import { MethodError, type GatewayEvent, type Scope } from "../../types/method.ts";
import { background } from "../../utils/background.ts";
import type { Env } from "../../utils/env.ts";
import { checkedUrl } from "../../utils/net/guard.ts";
import { FetchRefused } from "../../utils/net/safe-fetch.ts";
import { hasScope } from "../transport/scopes.ts";
import {
  areKeys,
  canSign,
  type DeliveryPorts,
  newVapidKeys,
  type PushEnd,
  type PushOutcome,
  PushQueue,
  type PushTarget,
  sendOnce,
  type VapidKeys,
} from "./delivery.ts";
import {
  withinBounds,
  current,
  isSameOwner,
  type Kept,
  type PushOwner,
  type PushStore,
  readKept,
  type Subscription,
  type UnsentPush,
} from "./kept.ts";
import {
  effectiveOf,
  GATEWAY,
  inLanguage,
  isWantedNow,
  isPairing,
  newsIn,
  type News,
  pairingTag,
  type PushNotice,
  payloadOf,
  type PushWords,
  wordsOf,
} from "./notices.ts";

interface GivenSubscription extends PushTarget {
  readonly language?: string | undefined;
  readonly replaces?: string | undefined;
}

type TestWords = { readonly [Name in keyof PushWords]?: PushWords[Name] | undefined };

interface EarlierSubscription {
  readonly endpoint: string;
  readonly auth: string;
}

/** For how long a push service keeps the words that something does not wait any more. */
const OVER_MS = 300_000;
const TEST_MS = 60_000;
/** A push service names an owner whom it can write to. */
const SUBJECT = "https://www.npmjs.com/package/claw-gateway";

export interface PushPorts {
  readonly store: PushStore;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn" | "error">;
  /** `OPENCLAW_VAPID_PUBLIC_KEY`, `_PRIVATE_KEY` and `_SUBJECT` take the place of own keys. */
  readonly env: Env;
  /** Whether push services may have private addresses. */
  readonly allowPrivate: () => boolean;
  /** The owner's present scopes; undefined when they may not connect any more. */
  readonly scopesOf: (owner: PushOwner) => readonly string[] | undefined;
  /** The strangers who wait to be let in. */
  readonly strangers: () => Promise<readonly PairingRequest[]>;
  /** Ends the sending: what waits is for the next process. */
  readonly signal: AbortSignal;
}

/** Notifications for browsers whose page may be closed, by the push services that they name (RFC 8030, 8291, 8292). */
export class WebPush {
  readonly #ports: PushPorts;
  readonly #delivery: DeliveryPorts;
  readonly #queues = new Map<string, PushQueue>();
  readonly #sending = new Set<Promise<unknown>>();
  /** Ends what is on its way; the signal only ends what waits. */
  readonly #cut = new AbortController();
  /** Subscriptions whose latest message did not arrive. */
  readonly #failing = new Set<string>();
  #kept: Kept;
  #changing: Promise<unknown> = Promise.resolve();
  #telling: Promise<unknown> = Promise.resolve();

  private constructor(ports: PushPorts, found: Kept) {
    this.#ports = ports;
    this.#kept = found;
    const { clock, allowPrivate, signal } = ports;
    this.#delivery = { clock, allowPrivate, signal, cut: this.#cut.signal, identity: () => this.#identity() };
  }

  /** Takes up the notifications of an earlier process: what has ended is replaced, and what was not delivered is sent. */
  static async open(ports: PushPorts): Promise<WebPush> {
    const push = new WebPush(ports, current(await readKept(ports), ports.clock.now()));
    push.#afterOthers(() => push.#takeUp());
    return push;
  }

  async #takeUp(): Promise<void> {
    const left = this.#kept.unsent;
    const waiting = await this.#waitingPairings();
    for (const { tag, waits } of this.#kept.told)
      if (waits === "process" || (isPairing(tag) && waiting?.has(tag) === false)) await this.#end(tag);
    for (const one of left) if (this.#kept.unsent.includes(one)) this.#deliver(one, one.mayHaveArrived);
  }

  /** The tags of the strangers who wait; undefined when nobody knows. */
  async #waitingPairings(): Promise<ReadonlySet<string> | undefined> {
    if (!this.#kept.told.some(({ tag }) => isPairing(tag))) return undefined;
    try {
      return new Set((await this.#ports.strangers()).map(pairingTag));
    } catch (error) {
      this.#ports.log.warn("notifications of strangers may stay on devices: nobody knows who still waits", { error });
      return undefined;
    }
  }

  /** How many browsers are told of approvals, whatever agent asks, and may decide them. */
  get approvers(): number {
    const now = this.#ports.clock.now();
    const asked = { category: "approvalRequested", agentId: undefined } as const;
    return this.#kept.subscriptions.filter(
      (one) =>
        !this.#failing.has(one.id) &&
        isWantedNow(effectiveOf(one.preferences), asked, now) &&
        this.#may(one, "operator.approvals"),
    ).length;
  }

  async publicKey(): Promise<string> {
    return (await this.#identity()).keys.publicKey;
  }

  /**
   * Adds or renews a subscription. `replaces`: the address of the one that it takes the place of, with its preferences. Throws
   * `FORBIDDEN` for one of another owner, `INVALID_REQUEST` for one that nothing can be sent to.
   */
  async subscribe({ replaces, ...given }: GivenSubscription, by: PushOwner): Promise<string> {
    this.#checkTarget(given);
    const now = this.#ports.clock.now();
    const id = randomUUID();
    const { subscriptions } = await this.#change(({ subscriptions: all, ...rest }) => {
      const known = all.find(({ endpoint }) => endpoint === given.endpoint);
      if (known && this.#isAlive(known)) checkOwner(known, by);
      const isOwn = (one: Subscription | undefined): one is Subscription =>
        one !== undefined && isSameOwner(one.owner, by);
      const replaced = all.filter((one) => one.endpoint === replaces).find(isOwn);
      const before = isOwn(known) ? known : replaced;
      const fresh = { id, createdAtMs: now, preferences: pushDevice.parse({}) };
      const next: Subscription = { ...fresh, ...before, ...given, owner: by, updatedAtMs: now };
      const others = all.filter((one) => one !== known && one !== replaced && this.#isAlive(one));
      return { ...rest, subscriptions: withinBounds([...others, next], by) };
    });
    return subscriptions.find(({ endpoint }) => endpoint === given.endpoint)?.id ?? id;
  }

  /**
   * Takes the subscription with which a browser replaced an earlier one while its page was closed. `auth`: the secret of the earlier
   * one, which only the browser and the gateway know. Whether it was right. Throws `INVALID_REQUEST` for a subscription that nothing
   * can be sent to.
   */
  async renew({ endpoint, auth }: EarlierSubscription, renewed: PushTarget): Promise<boolean> {
    const known = this.#kept.subscriptions.find((one) => one.endpoint === endpoint && this.#isAlive(one));
    if (!known || !isSameSecret(known.keys.auth, auth)) return false;
    await this.subscribe({ ...renewed, replaces: endpoint }, known.owner);
    return true;
  }

  async unsubscribe(endpoint: string, by: PushOwner): Promise<void> {
    await this.#forget(this.#own(endpoint, by));
  }

  /** Forgets the subscriptions of a device that may not connect any more. */
  async forgetDevice(deviceId: string): Promise<void> {
    if (!this.#kept.subscriptions.some(({ owner: of }) => of.deviceId === deviceId)) return;
    await this.#change(({ subscriptions, ...rest }) => ({
      ...rest,
      subscriptions: subscriptions.filter(({ owner: of }) => of.deviceId !== deviceId),
    }));
  }

  preferences(endpoint: string, by: PushOwner): PushDevice {
    return this.#own(endpoint, by).preferences;
  }

  async prefer(endpoint: string, preferences: PushDevice, by: PushOwner): Promise<void> {
    const { id } = this.#own(endpoint, by);
    await this.#change(({ subscriptions, ...rest }) => ({
      ...rest,
      subscriptions: subscriptions.map((one) => (one.id === id ? { ...one, preferences } : one)),
    }));
  }

  /** Sends a notification to the owner's browsers, whatever they want to be told. The words are in their languages unless given. */
  async test(words: TestWords, by: PushOwner): Promise<readonly PushSent[]> {
    const own = this.#kept.subscriptions.filter((one) => isSameOwner(one.owner, by) && this.#isAlive(one));
    const untilMs = this.#ports.clock.now() + TEST_MS;
    return Promise.all(
      own.map(async (one) => {
        const { title = GATEWAY, body = inLanguage("Notifications reach this device.", one.language) } = words;
        const payload = payloadOf({ title, body, tag: "test", url: "./" });
        const outcome = await sendOnce(one, { tag: "test", payload, urgency: "high", untilMs }, this.#delivery);
        await this.#ended(one.id, { outcome, endpoint: one.endpoint });
        return sentOf(one, outcome);
      }),
    );
  }

  /** Tells the browsers that want to be told of an event. Returns before it has done so. */
  tell(event: GatewayEvent): void {
    const news = newsIn(event, this.#ports.clock.now());
    if (news) this.#inOrder(news);
  }

  /** What has ended is told after what was told of it. */
  #inOrder(news: News): void {
    this.#afterOthers(() => ("notice" in news ? this.#announce(news.notice) : this.#end(news.endedTag)));
  }

  #afterOthers(act: () => Promise<void>): void {
    const work = this.#telling.then(act);
    this.#telling = work.catch((error: unknown) => this.#ports.log.error("a notification was not sent", { error }));
  }

  async #announce(notice: PushNotice): Promise<void> {
    const { tag, untilMs, waits } = notice;
    const known = this.#kept.told.find((one) => one.tag === tag)?.to ?? [];
    const meant = this.#kept.subscriptions.filter((one) => this.#wants(one, notice) && !known.includes(one.id));
    if (meant.length === 0) return;
    const to = [...known, ...meant.map(({ id }) => id)];
    const fresh = meant.map((one) => unsentOf(one, messageOf(notice, one)));
    // Kept before it is sent: after a crash, one notification too many is replaced, and none stays.
    await this.#note(({ told, unsent, ...rest }) => ({
      ...rest,
      told: waits === "not" ? told : [...told.filter((one) => one.tag !== tag), { tag, to, untilMs, waits }],
      unsent: [...unsent, ...fresh],
    }));
    for (const one of fresh) this.#deliver(one, false);
  }

  async #end(tag: string): Promise<void> {
    const found = this.#kept.told.find((one) => one.tag === tag);
    if (!found) return;
    for (const queue of this.#queues.values()) queue.withdraw(tag);
    const untilMs = this.#ports.clock.now() + OVER_MS;
    const meant = this.#kept.subscriptions.filter(
      (one) => found.to.includes(one.id) && this.#isAlive(one) && this.#mayHave(one, tag),
    );
    const fresh = meant.map((one) => unsentOf(one, overMessage(tag, one, untilMs)));
    await this.#note(({ told, unsent, ...rest }) => ({
      ...rest,
      told: told.filter((one) => one.tag !== tag),
      unsent: [...unsent.filter(({ message }) => message.tag !== tag), ...fresh],
    }));
    for (const one of fresh) this.#deliver(one, false);
  }

  /** Whether a message with the tag may have come to the browser: none of those that wait has, if they say so. */
  #mayHave({ id }: Subscription, tag: string): boolean {
    const waiting = this.#kept.unsent.filter(({ to, message }) => to === id && message.tag === tag);
    return waiting.length === 0 || waiting.some(({ mayHaveArrived }) => mayHaveArrived);
  }

  /** Notes what people were told of and what was not sent. A disk that takes no writes does not keep them from being told. */
  async #note(nextOf: (now: Kept) => Kept): Promise<void> {
    const change = (now: Kept): Kept => current(nextOf(now), this.#ports.clock.now());
    try {
      await this.#change(change);
    } catch (error) {
      this.#kept = change(this.#kept);
      this.#ports.log.warn("a notification could not be noted: a restart may lose it, or leave it on devices", {
        error,
      });
    }
  }

  /** `mayHaveArrived`: whether an earlier process may have brought it to the push service. */
  #deliver({ key, to, message, notBeforeMs }: UnsentPush, mayHaveArrived: boolean): void {
    const target = (): PushTarget | undefined => this.#kept.subscriptions.find(({ id }) => id === to);
    const queue = this.#queues.get(to) ?? new PushQueue(this.#delivery, target);
    this.#queues.set(to, queue);
    const note = (progress: Partial<UnsentPush>): Promise<void> => {
      const changed = (one: UnsentPush): UnsentPush => (one.key === key ? { ...one, ...progress } : one);
      return this.#note(({ unsent, ...rest }) => ({ ...rest, unsent: unsent.map(changed) }));
    };
    const sent = queue
      .send({ message, note, mayHaveArrived, notBeforeMs })
      .then((end) => this.#delivered(key, to, end));
    this.#sending.add(sent);
    background(
      "a notification",
      sent.finally(() => this.#sending.delete(sent)),
      this.#ports.log,
    );
  }

  /** After the signal: gives what is on its way this time to end, so that the next process does not send it again. Never rejects. */
  async stop(graceMs: number): Promise<void> {
    const cut = setTimeout(() => this.#cut.abort(), graceMs);
    await Promise.allSettled([this.#telling, ...this.#sending]);
    clearTimeout(cut);
  }

  async #delivered(key: string, id: string, end: PushEnd): Promise<void> {
    // The next process sends it.
    if (end.outcome.kind === "stopped") return;
    if (this.#kept.unsent.some((one) => one.key === key))
      await this.#note(({ unsent, ...rest }) => ({ ...rest, unsent: unsent.filter((one) => one.key !== key) }));
    await this.#ended(id, end);
  }

  /** Forgets a subscription that its browser has ended. */
  async #ended(id: string, { outcome, endpoint }: PushEnd): Promise<void> {
    if (outcome.kind === "withdrawn" || outcome.kind === "stopped") return;
    if (outcome.kind === "taken") this.#failing.delete(id);
    else this.#failing.add(id);
    if (outcome.kind === "gone" && endpoint !== undefined) await this.#forget({ id, endpoint });
    else if (outcome.kind !== "taken")
      this.#ports.log.warn("a push service did not take a notification", {
        ...(endpoint !== undefined && { service: new URL(endpoint).host }),
        ...outcome,
      });
  }

  #wants(one: Subscription, notice: PushNotice): boolean {
    return isWantedNow(effectiveOf(one.preferences), notice, this.#ports.clock.now()) && this.#may(one, notice.scope);
  }

  #isAlive(one: Subscription): boolean {
    return this.#ports.scopesOf(one.owner) !== undefined;
  }

  #may({ owner: by }: Subscription, scope: Scope): boolean {
    const scopes = this.#ports.scopesOf(by);
    return scopes !== undefined && hasScope(new Set(scopes), scope);
  }

  #checkTarget({ endpoint, keys }: Pick<Subscription, "endpoint" | "keys">): void {
    if (!areKeys(keys)) throw new MethodError("INVALID_REQUEST", "the keys are none of a browser's subscription");
    try {
      checkedUrl(endpoint, { allowPrivate: this.#ports.allowPrivate() });
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      throw new MethodError("INVALID_REQUEST", `the push service cannot be used: ${error.message}`, {
        details: { fix: "Set gateway.push.allowPrivateNetwork where the push service is on a network of yours." },
      });
    }
  }

  /** The keys by which push services know this gateway, made at the first use. Throws `UNAVAILABLE` for keys of the operator that are none. */
  async #identity(): Promise<{ readonly keys: VapidKeys; readonly subject: string }> {
    const { env } = this.#ports;
    const { OPENCLAW_VAPID_PUBLIC_KEY: publicKey, OPENCLAW_VAPID_PRIVATE_KEY: privateKey } = env;
    const subject = env["OPENCLAW_VAPID_SUBJECT"] || SUBJECT;
    if (publicKey && privateKey) {
      const keys = { publicKey, privateKey };
      if (canSign(keys)) return { keys, subject };
      throw new MethodError(
        "UNAVAILABLE",
        "OPENCLAW_VAPID_PUBLIC_KEY and OPENCLAW_VAPID_PRIVATE_KEY are no keys of P-256 in base64url",
      );
    }
    const known = this.#kept.vapid;
    if (known) return { keys: known, subject };
    const { vapid } = await this.#change((now) => ({ ...now, vapid: now.vapid ?? newVapidKeys() }));
    if (!vapid) throw new Error("the keys are not kept");
    return { keys: vapid, subject };
  }

  #own(endpoint: string, by: PushOwner): Subscription {
    const known = this.#kept.subscriptions.find((one) => one.endpoint === endpoint);
    if (!known) throw notBound();
    checkOwner(known, by);
    return known;
  }

  async #forget({ id, endpoint }: Pick<Subscription, "id" | "endpoint">): Promise<void> {
    await this.#change(({ subscriptions, ...rest }) => ({
      ...rest,
      // A browser may have subscribed anew meanwhile.
      subscriptions: subscriptions.filter((one) => one.id !== id || one.endpoint !== endpoint),
    }));
  }

  /** Changes are kept one after the other. One that the disk does not take is none. */
  #change(nextOf: (now: Kept) => Kept): Promise<Kept> {
    const changed = this.#changing.then(() => this.#write(nextOf(this.#kept)));
    // The caller learns of the failure; the next change begins all the same.
    this.#changing = changed.catch(() => undefined);
    return changed;
  }

  async #write(next: Kept): Promise<Kept> {
    await this.#ports.store.write(JSON.stringify(next));
    this.#kept = next;
    this.#dropQueues();
    return next;
  }

  #dropQueues(): void {
    const ids = new Set(this.#kept.subscriptions.map(({ id }) => id));
    for (const [id, queue] of this.#queues) {
      if (ids.has(id)) continue;
      queue.end();
      this.#queues.delete(id);
      this.#failing.delete(id);
    }
  }
}

function sentOf({ id: subscriptionId }: Subscription, outcome: PushOutcome): PushSent {
  if (!("status" in outcome)) return { ok: false, subscriptionId, error: "error" in outcome ? outcome.error : "" };
  const { kind, status: statusCode } = outcome;
  const ok = kind === "taken";
  return { ok, subscriptionId, statusCode, ...(!ok && { error: `the push service answered ${statusCode}` }) };
}

function messageOf(notice: PushNotice, { preferences, language }: Subscription): UnsentPush["message"] {
  const { tag, url, untilMs, category } = notice;
  const payload = payloadOf({ ...wordsOf(notice, effectiveOf(preferences), language), tag, url });
  return { tag, payload, untilMs, urgency: category === "approvalRequested" ? "high" : "normal" };
}

/** It is about to be sent. */
const unsentOf = ({ id: to }: Subscription, message: UnsentPush["message"]): UnsentPush => ({
  key: randomUUID(),
  to,
  message,
  mayHaveArrived: true,
  notBeforeMs: 0,
});

/** The message that takes the place of a notice when what it is about has been decided. */
function overMessage(tag: string, { language }: Subscription, untilMs: number): UnsentPush["message"] {
  const body = inLanguage("This does not wait for you any more.", language);
  const payload = payloadOf({ title: GATEWAY, body, tag, url: "./?view=needs", isOver: true });
  return { tag, payload, urgency: "normal", untilMs };
}

function isSameSecret(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, "base64url"), Buffer.from(other, "base64url")];
  return a.length === b.length && timingSafeEqual(a, b);
}

const notBound = (): MethodError => new MethodError("FORBIDDEN", "subscription is not bound to this device");

function checkOwner(known: Subscription, by: PushOwner): void {
  if (!isSameOwner(known.owner, by)) throw notBound();
}
