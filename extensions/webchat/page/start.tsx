import { render } from "preact";
import { placeInAddress, takeTokens } from "./model/address.ts";
import { Chat } from "./model/chat.ts";
import { claimKept } from "./model/kept-files.ts";
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
import("./model/push.ts")
  .then(({ startWorker, followSubscription }) => {
    startWorker((query) => chat.visit(placeInAddress(query).view));
    followSubscription(chat, store);
  })
  .catch(() => undefined);
globalThis.addEventListener("hashchange", () => {
  const { fromLink } = takeTokens();
  if (fromLink !== undefined) chat.offer(fromLink);
});
globalThis.addEventListener("popstate", () => chat.goTo(placeInAddress()));
