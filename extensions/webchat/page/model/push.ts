import type { Chat } from "./chat.ts";
import { isRecord } from "./json.ts";
import { t } from "../words/words.ts";

/** Whether this browser shows notifications of the page while it is closed. */
export type PushState =
  | { readonly kind: "on"; readonly endpoint: string }
  | { readonly kind: "off" }
  /** `why`: a sentence for the person. */
  | { readonly kind: "impossible"; readonly why: string };

const impossible = (why: string): PushState => ({ kind: "impossible", why });

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

export async function pushState(): Promise<PushState> {
  if (!window.isSecureContext)
    return impossible(t("The browser allows notifications only over HTTPS, or on the gateway's own machine."));
  if (!("serviceWorker" in navigator) || !("PushManager" in window))
    return impossible(t("This browser has none. On an iPhone or iPad, add the page to the home screen first."));
  if (Notification.permission === "denied")
    return impossible(t("You have forbidden them in this browser: allow them in its settings of this page."));
  const found = await (await worker())?.pushManager.getSubscription();
  return found ? { kind: "on", endpoint: found.endpoint } : { kind: "off" };
}

const worker = (): Promise<ServiceWorkerRegistration | undefined> => navigator.serviceWorker.getRegistration("./");

/** Asks the person, the browser and the gateway. Rejects with a sentence for the person. */
export async function turnOn(chat: Chat): Promise<void> {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") throw new Error(t("You have not allowed notifications."));
  const { vapidPublicKey } = await chat.ask("push.web.vapidPublicKey", {});
  const { pushManager } = await navigator.serviceWorker.ready;
  // This gateway cannot use a subscription that another gateway made at this address.
  await (await pushManager.getSubscription())?.unsubscribe();
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(vapidPublicKey) });
  const { endpoint, keys = {} } = made.toJSON();
  try {
    await chat.ask("push.web.subscribe", { endpoint, keys });
  } catch (error) {
    await made.unsubscribe();
    throw error;
  }
}

/** The browser forgets it also when the gateway does not know it any more. */
export async function turnOff(chat: Chat, endpoint: string): Promise<void> {
  await (await (await worker())?.pushManager.getSubscription())?.unsubscribe();
  await chat.ask("push.web.unsubscribe", { endpoint });
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (char) => char.codePointAt(0) ?? 0);
}
