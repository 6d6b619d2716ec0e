import { noteTold, subscribingFor, type ToldSubscription, toldSubscription } from "../../worker/subscription.ts";
import { language, t } from "../words/words.ts";
import type { Chat } from "./chat.ts";
import { refusalBehind } from "./connection.ts";
import { isRecord } from "./json.ts";
import type { Hello } from "./protocol.ts";
import type { Store } from "./store.ts";

/** Whether this browser shows notifications of the page while it is closed. */
export type PushState =
  | { readonly kind: "on"; readonly endpoint: string }
  | { readonly kind: "off" }
  /** `why`: a sentence for the person. */
  | { readonly kind: "impossible"; readonly why: string };

/** Installs the service worker, where the browser lets the page have one. `visit` is called with the query of a notification that was clicked. */
export function startWorker(visit: (query: string) => void): void {
  if (!("serviceWorker" in navigator)) return;
  // Without it the page works as well: it is not there while the gateway is away, and shows no notifications.
  navigator.serviceWorker
    .register("./sw.js")
    .catch((error: unknown) => console.warn("the service worker could not be installed", error));
  navigator.serviceWorker.addEventListener("message", ({ data, ports }: MessageEvent<unknown>) => {
    if (!isRecord(data) || typeof data["visit"] !== "string") return;
    visit(data["visit"]);
    for (const port of ports) port.postMessage("visited");
  });
  // Who comes to the page sees there what the notifications are about.
  window.addEventListener("focus", () => {
    closeNotices().catch((error: unknown) => console.warn("notifications could not be closed", error));
  });
}

async function closeNotices(): Promise<void> {
  for (const shown of (await (await worker())?.getNotifications()) ?? []) shown.close();
}

/** Tells the gateway, at each connection, of a subscription that the browser has renewed meanwhile. */
export function followSubscription(chat: Chat, store: Store): void {
  let seen: Hello | undefined;
  const look = (): void => {
    const { hello } = store.state();
    if (hello === seen || hello?.methods.includes("push.web.subscribe") !== true) return;
    seen = hello;
    keepSubscription(chat).catch((error: unknown) => console.warn("the subscription could not be renewed", error));
  };
  store.subscribe(look);
  look();
}

/** Why this browser can show no notifications, as a sentence for the person; undefined where it can. */
function hindrance(): string | undefined {
  if (!window.isSecureContext)
    return t("The browser allows notifications only over HTTPS, or on the gateway's own machine.");
  if (!("serviceWorker" in navigator) || !("PushManager" in window))
    return t("This browser has none. On an iPhone or iPad, add the page to the home screen first.");
  return Notification.permission === "denied"
    ? t("You have forbidden them in this browser: allow them in its settings of this page.")
    : undefined;
}

/** What the browser says, after the gateway was told of its present subscription. */
export async function pushState(chat: Chat): Promise<PushState> {
  const why = hindrance();
  if (why !== undefined) return { kind: "impossible", why };
  await keepSubscription(chat);
  const found = await presentSubscription();
  return found ? { kind: "on", endpoint: found.endpoint } : { kind: "off" };
}

const worker = (): Promise<ServiceWorkerRegistration | undefined> => navigator.serviceWorker.getRegistration("./");
const presentSubscription = async (): Promise<PushSubscription | undefined> =>
  (await (await worker())?.pushManager.getSubscription()) ?? undefined;
const scope = (): string => new URL("./", location.href).href;

/**
 * Brings the gateway up to date where the browser has another subscription than the gateway was told of, or none any more, or the
 * page another language.
 */
async function keepSubscription(chat: Chat): Promise<void> {
  if (!window.isSecureContext || !("serviceWorker" in navigator) || !("PushManager" in window)) return;
  const before = await toldSubscription(scope());
  const found = await presentSubscription();
  if (before === undefined) return found && adopt(chat, found);
  if (found?.endpoint === before.endpoint && before.language === language()) return;
  if (found) return handOver(chat, found, before);
  if (Notification.permission === "granted") return renew(chat, before);
  await forget(chat, before.endpoint);
}

/** Notes a subscription of which the gateway was told by an earlier version of the page. */
async function adopt(chat: Chat, found: PushSubscription): Promise<void> {
  const { endpoint } = found;
  if (!(await isAsked(chat.ask("push.web.preferences.get", { endpoint })))) return;
  const { vapidPublicKey: serverKey } = await chat.ask("push.web.vapidPublicKey", {});
  await handOver(chat, found, { serverKey });
}

/** The browser has ended the subscription, and the person still allows notifications. */
async function renew(chat: Chat, before: ToldSubscription): Promise<void> {
  const { pushManager } = await navigator.serviceWorker.ready;
  await handOver(chat, await pushManager.subscribe(subscribingFor(before.serverKey)), before);
}

/** Whether the gateway knows the subscription that it was asked about: it forgets some, such as after its token was changed. */
async function isAsked(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (refusalBehind(error)?.code === "FORBIDDEN") return false;
    throw error;
  }
}

/** `before`: what the gateway was told until now, or only the gateway's key. */
async function handOver(
  chat: Chat,
  made: PushSubscription,
  { serverKey, endpoint: replaces }: Pick<ToldSubscription, "serverKey"> & Partial<ToldSubscription>,
): Promise<void> {
  const { endpoint = "", keys = {} } = made.toJSON();
  const isOther = replaces !== undefined && replaces !== endpoint;
  await chat.ask("push.web.subscribe", { endpoint, keys, language: language(), ...(isOther && { replaces }) });
  await noteTold(scope(), { endpoint, auth: keys["auth"] ?? "", serverKey, language: language() });
}

/** Asks the person, the browser and the gateway. Rejects with a sentence for the person. */
export async function turnOn(chat: Chat): Promise<void> {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") throw new Error(t("You have not allowed notifications."));
  const { vapidPublicKey: serverKey } = await chat.ask("push.web.vapidPublicKey", {});
  const { pushManager } = await navigator.serviceWorker.ready;
  const before = await toldSubscription(scope());
  // This gateway cannot use a subscription that another gateway made at this address.
  await (await pushManager.getSubscription())?.unsubscribe();
  const made = await pushManager.subscribe(subscribingFor(serverKey));
  try {
    await handOver(chat, made, { ...before, serverKey });
  } catch (error) {
    await made.unsubscribe();
    throw error;
  }
}

/** The browser forgets it also when the gateway does not know it any more. */
export async function turnOff(chat: Chat, endpoint: string): Promise<void> {
  await (await presentSubscription())?.unsubscribe();
  await forget(chat, endpoint);
}

async function forget(chat: Chat, endpoint: string): Promise<void> {
  await noteTold(scope(), undefined);
  await isAsked(chat.ask("push.web.unsubscribe", { endpoint }));
}
