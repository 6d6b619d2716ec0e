// The page's service worker: it shows the page while the gateway cannot be reached, and notifications while the page is closed.
import { noteTold, subscribingFor, toldSubscription } from "./subscription.ts";

/** The files of the page, and a mark of their content: the build sets both. */
declare const SHELL: { readonly mark: string; readonly files: readonly string[] };

// TypeScript knows `self` as the scope of any worker.
const worker: ServiceWorkerGlobalScope = Object(self);
const scope = new URL(worker.registration.scope);
/** Each path of the host may have a page of its own. */
const OWN = `page ${scope.pathname} `;
const CACHE = `${OWN}${SHELL.mark}`;
const addresses = new Set(["./", ...SHELL.files].map((name) => new URL(name, scope).pathname));

worker.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => worker.skipWaiting()));
});

/** Keeps the page's files. Rejects where a proxy answers with a page of its own, such as its login: the browser tries again later. */
async function keepShell(): Promise<void> {
  const cache = await caches.open(CACHE);
  const keep = async (path: string): Promise<void> => {
    // Not what the browser may have kept of an earlier build.
    const given = await fetch(path, { cache: "reload" });
    const isText = given.headers.get("content-type")?.startsWith("text/html") === true;
    if (!given.ok || given.redirected || isText !== (path === scope.pathname)) throw new Error(`not the page: ${path}`);
    await cache.put(path, given);
  };
  await Promise.all([...addresses].map(keep));
}

worker.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers().then(() => worker.clients.claim()));
});

/** The pages of this scope are served by one version. */
async function forgetOthers(): Promise<void> {
  for (const name of await caches.keys()) if (name.startsWith(OWN) && name !== CACHE) await caches.delete(name);
}

worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== scope.origin || !addresses.has(pathname)) return;
  event.respondWith(answer(event.request));
});

/** How a proxy answers in place of a gateway that it cannot reach. */
const AWAY = new Set([502, 503, 504]);

/** The gateway's own answer, so that the page is of its version; the kept one while it does not answer. */
async function answer(request: Request): Promise<Response> {
  const kept = (): Promise<Response | undefined> => caches.match(request, { cacheName: CACHE, ignoreSearch: true });
  try {
    const given = await fetch(request);
    if (AWAY.has(given.status) || isOfBefore(given, request)) return (await kept()) ?? given;
    return given.status === 401 && request.mode === "navigate" ? unguarded(request) : given;
  } catch (error) {
    const found = await kept();
    if (found) return found;
    throw error;
  }
}

/** An updated gateway has no code any more of the version that an open page is of. */
const isOfBefore = ({ status }: Response, { mode }: Request): boolean => status === 404 && mode !== "navigate";

/** A proxy wants a password. The browser asks for it only where no service worker answers, and this one does not for `index.html`. */
const unguarded = ({ url }: Request): Response =>
  Response.redirect(new URL(`./index.html${new URL(url).search}`, scope).href);

interface Notice {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly url: string;
  /** It takes the place of one that does not wait any more. */
  readonly isOver: boolean;
}

worker.addEventListener("push", (event) => {
  event.waitUntil(show(noticeIn(event.data)));
});

function noticeIn(data: PushMessageData | null): Notice {
  const given = fieldsIn(data);
  const text = (name: keyof Notice, other: string): string => {
    const value = given[name];
    return typeof value === "string" ? value : other;
  };
  return {
    title: text("title", "Gateway"),
    body: text("body", ""),
    tag: text("tag", "notice"),
    url: text("url", "./"),
    isOver: given.isOver === true,
  };
}

/** The fields of a message. One of developer tools is a text. */
function fieldsIn(data: PushMessageData | null): Partial<Record<keyof Notice, unknown>> {
  try {
    return Object(data?.json());
  } catch {
    return { body: data?.text() };
  }
}

/** Safari takes the permission away from a page that is told and shows nothing. */
const mustShow = /\bSafari\//.test(navigator.userAgent) && !/\bChrom/.test(navigator.userAgent);

/** A person who looks at the page sees there what it is about. */
async function show({ title, body, tag, url, isOver }: Notice): Promise<void> {
  const isSeen = (await ownPages()).some((page) => page.focused);
  const options = { body, tag, icon: "./icon-192.png", silent: isOver || isSeen, data: { url } };
  if (!isSeen || mustShow) await worker.registration.showNotification(title, options);
  if (isSeen) for (const shown of await worker.registration.getNotifications({ tag })) shown.close();
}

worker.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(handOver(event.newSubscription));
});

/** Tells the gateway of the subscription with which the browser replaced the one before. Where it does not answer, the page does so later. */
async function handOver(given: PushSubscription | null | undefined): Promise<void> {
  const before = await toldSubscription(scope.href);
  if (!before) return;
  const { pushManager } = worker.registration;
  const found = given ?? (await pushManager.getSubscription());
  const renewed = (found ?? (await pushManager.subscribe(subscribingFor(before.serverKey)))).toJSON();
  const { endpoint = "", keys = {} } = renewed;
  if (endpoint === before.endpoint) return;
  const answer = await fetch(new URL("./__openclaw__/push-renewed", scope), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ endpoint: before.endpoint, auth: before.auth, renewed: { endpoint, keys } }),
  });
  if (answer.status === 204) await noteTold(scope.href, { ...before, endpoint, auth: keys["auth"] ?? "" });
}

async function ownPages(): Promise<readonly WindowClient[]> {
  const pages = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  return pages.filter(({ url }) => url.startsWith(scope.href));
}

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { data }: { readonly data?: { readonly url?: unknown } } = event.notification;
  event.waitUntil(open(typeof data?.url === "string" ? data.url : "./"));
});

/** Goes to the address in a tab of the page, or in a new one. An address elsewhere leads to the page. */
async function open(address: string): Promise<void> {
  const wanted = new URL(address, scope);
  const target = wanted.href.startsWith(scope.href) ? wanted : scope;
  const [page] = await ownPages();
  if (!page) return void (await worker.clients.openWindow(target.href));
  // The browser may not let the worker do so, which changes nothing of what is next.
  await page.focus().catch(() => undefined);
  if (!(await visited(page, target)))
    await page.navigate(target.href).catch(() => worker.clients.openWindow(target.href));
}

/** Within this time a page that has begun takes a message. */
const TAKEN_MS = 2000;

/** Whether the page went there itself, so that a text that was not saved stays. One that is still loading, or of an earlier build, does not. */
function visited(page: WindowClient, { search }: URL): Promise<boolean> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener("message", () => resolve(true));
    port1.start();
    setTimeout(() => resolve(false), TAKEN_MS);
    page.postMessage({ visit: search }, [port2]);
  });
}
