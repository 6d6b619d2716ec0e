/** The subscription to notifications of which the gateway at an address was told last. */
export interface ToldSubscription {
  readonly endpoint: string;
  /** The secret by which the gateway knows the browser again. */
  readonly auth: string;
  /** The gateway's key, in base64url. */
  readonly serverKey: string;
  /** The language in which notifications were asked for. */
  readonly language: string;
}

const CACHE = "subscriptions";
/** Several gateways may have pages at one host, each below a path of its own. */
const placeOf = (scope: string): string => new URL("./subscription", scope).href;

/** What the gateway of the page at `scope` was told; undefined where it was told nothing. The page and its service worker share it. */
export async function toldSubscription(scope: string): Promise<ToldSubscription | undefined> {
  const found: unknown = await (await caches.match(placeOf(scope), { cacheName: CACHE }))?.json();
  return isTold(found) ? found : undefined;
}

function isTold(value: unknown): value is ToldSubscription {
  const fields: Record<string, unknown> = { ...Object(value) };
  return ["endpoint", "auth", "serverKey", "language"].every((name) => typeof fields[name] === "string");
}

/** Notes what the gateway was told, or forgets it. */
export async function noteTold(scope: string, told: ToldSubscription | undefined): Promise<void> {
  const cache = await caches.open(CACHE);
  if (told === undefined) await cache.delete(placeOf(scope));
  else await cache.put(placeOf(scope), new Response(JSON.stringify(told)));
}

/** What a browser needs to subscribe at its push service for a gateway. */
export const subscribingFor = (serverKey: string): PushSubscriptionOptionsInit => ({
  userVisibleOnly: true,
  applicationServerKey: bytesOf(serverKey),
});

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (char) => char.codePointAt(0) ?? 0);
}
