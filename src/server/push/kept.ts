import { createHash } from "node:crypto";
import { z } from "zod";
import { pushDevice } from "../../types/answers/push.ts";
import type { KeyValue } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { Secret } from "../../types/secret.ts";

/** Where keys and subscriptions are kept, as one text. */
export interface PushStore {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** The store in the journal's small values. */
export const pushIn = (values: KeyValue): PushStore => ({
  read: () => values.get("web-push"),
  write: (text) => values.set("web-push", text),
});

/** Whose subscription it is: of a paired device, or of a client with the gateway's own token or password, of which `login` is a mark. */
const owner = z.object({ deviceId: z.string().nullable(), login: z.string(), scopes: z.array(z.string()) });
export type PushOwner = z.output<typeof owner>;

const subscription = z.object({
  id: z.string(),
  endpoint: z.string(),
  keys: z.object({ p256dh: z.string(), auth: z.string() }),
  owner,
  /** The language of the page, as the browser names it. */
  language: z.string().optional(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
  preferences: pushDevice,
});
export type Subscription = z.output<typeof subscription>;

/** Whom the gateway told of something that waits: their notifications are replaced when it does not wait any more. */
const told = z.object({ tag: z.string(), to: z.array(z.string()), untilMs: z.number(), waits: z.string() });

/** A message that a push service has not taken yet. */
const unsent = z.object({
  key: z.string(),
  /** Id of the subscription. */
  to: z.string(),
  message: z.object({
    tag: z.string(),
    payload: z.record(z.string(), z.unknown()),
    urgency: z.enum(["normal", "high"]),
    untilMs: z.number(),
  }),
  /** Whether the push service may have it. */
  mayHaveArrived: z.boolean(),
  /** Before this time the push service wants to be left alone, in epoch milliseconds. */
  notBeforeMs: z.number(),
});
export type UnsentPush = z.output<typeof unsent>;

const kept = z.object({
  vapid: z.object({ publicKey: z.string(), privateKey: z.string() }).optional(),
  subscriptions: z.array(subscription),
  told: z.array(told).default([]),
  unsent: z.array(unsent).default([]),
});
export type Kept = z.output<typeof kept>;

/** Of an owner, and of all. Beyond it, those go that were renewed longest ago. A device has one browser; the token's owner has several devices. */
const MOST_OF_DEVICE = 3;
const MOST_OF_TOKEN = 30;
const MOST_SUBSCRIPTIONS = 200;
const MOST_TOLD = 200;
const MOST_UNSENT = 200;

interface Reading {
  readonly store: PushStore;
  readonly log: Pick<Log, "error">;
  readonly scopesOf: (owner: PushOwner) => readonly string[] | undefined;
}

/** What was kept, without the subscriptions of those who may not connect any more. Nothing where it cannot be read. */
export async function readKept({ store, log, scopesOf }: Reading): Promise<Kept> {
  const text = await store.read();
  const none: Kept = { subscriptions: [], told: [], unsent: [] };
  if (text === undefined) return none;
  try {
    const found = kept.parse(JSON.parse(text));
    return { ...found, subscriptions: found.subscriptions.filter((one) => scopesOf(one.owner) !== undefined) };
  } catch (error) {
    log.error("the subscriptions to notifications cannot be read: devices have to subscribe again", { error });
    return none;
  }
}

/** The subscriptions, those that were renewed last at the end, without the oldest of this owner and of all where they are too many. */
export function withinBounds(all: readonly Subscription[], by: PushOwner): Subscription[] {
  const most = by.deviceId === null ? MOST_OF_TOKEN : MOST_OF_DEVICE;
  const own = all.filter((one) => isSameOwner(one.owner, by));
  const dropped = new Set(own.slice(0, Math.max(own.length - most, 0)));
  return all.filter((one) => !dropped.has(one)).slice(-MOST_SUBSCRIPTIONS);
}

/** Leaves out what has expired, and the oldest beyond the bounds. `now`: epoch milliseconds. */
export const current = ({ told: all, unsent: waiting, ...rest }: Kept, now: number): Kept => ({
  ...rest,
  told: all.filter(({ untilMs }) => untilMs > now).slice(-MOST_TOLD),
  unsent: waiting.filter(({ message }) => message.untilMs > now).slice(-MOST_UNSENT),
});

/** A client with a new token of the gateway is another one, as far as anybody knows. */
export const isSameOwner = (one: PushOwner, other: PushOwner): boolean =>
  one.deviceId === other.deviceId && (one.deviceId !== null || one.login === other.login);

/** A mark of what lets clients in, which says whether it is the same later. */
export function loginMark({ token, password }: { readonly token: Secret; readonly password?: Secret }): string {
  const text = JSON.stringify(["web-push", token.reveal(), password?.reveal()]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}
