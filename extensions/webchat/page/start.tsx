import { render } from "preact";
import { placeInAddress, takeTokens } from "./model/address.ts";
import { Chat } from "./model/chat.ts";
import { claimKept } from "./model/kept-files.ts";
import { loadAgain, loadPart, onLack, tellLack } from "./browser/parts.ts";
import { App } from "./components/app.tsx";
import { createStore } from "./model/store.ts";

const root = document.getElementById("app");
await claimKept();
const store = createStore(placeInAddress());
const chat = new Chat(store);
let isScheduled = false;

function show(): void {
  isScheduled = false;
  if (root !== null) render(<App state={store.state()} chat={chat} />, root);
}

// The page is drawn at most once per frame, however fast text is received.
store.subscribe(() => {
  if (!isScheduled) requestAnimationFrame(show);
  isScheduled = true;
});

chat.signIn(takeTokens());
show();
// The first view does without it.
loadPart(
  () => import("./model/push.ts"),
  ({ startWorker, followSubscription }) => {
    startWorker((query) => chat.visit(placeInAddress(query).view));
    followSubscription(chat, store);
  },
);
onLack((lack) => {
  store.dispatch({ type: "lack", lack });
  if (lack === "part") lookForNewer();
});
let { hello } = store.state();
// At each connection the gateway may be another one than before.
store.subscribe(() => {
  if (store.state().hello === hello) return;
  ({ hello } = store.state());
  loadAgain();
  lookForNewer();
});
globalThis.addEventListener("hashchange", () => {
  const { fromLink } = takeTokens();
  if (fromLink !== undefined) chat.offer(fromLink);
});
globalThis.addEventListener("popstate", () => chat.goTo(placeInAddress()));

/** Looks whether the gateway has another version of the page than this one; it then has no code of this one any more. */
function lookForNewer(): void {
  const own = [...document.querySelectorAll("link[rel=modulepreload]")].map((link) => link.getAttribute("href") ?? "");
  scriptsOfGateway().then(
    (names) => {
      if (names.length > 0 && names.join(" ") !== own.join(" ")) tellLack("newer");
    },
    // The gateway is away, and the page looks again when it is back.
    () => undefined,
  );
}

/** Names of the page's code at the gateway; none where a proxy answers with a page of its own. The names tell of their content. */
async function scriptsOfGateway(): Promise<readonly string[]> {
  const given = await fetch("./", { cache: "no-cache" });
  if (!given.ok) return [];
  const { head } = new DOMParser().parseFromString(await given.text(), "text/html");
  return [...head.querySelectorAll("link[rel=modulepreload]")].map((link) => link.getAttribute("href") ?? "");
}
