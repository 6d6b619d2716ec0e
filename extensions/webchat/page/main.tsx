import { render } from "preact";
import { addressedSession, takeTokens } from "./protocol/address.ts";
import { Chat } from "./chat.ts";
import { App } from "./components/app.tsx";
import { createStore } from "./store.ts";
import "./style.css";

const root = document.getElementById("app");
const store = createStore(addressedSession());
const chat = new Chat(store);
let asked = false;

function show(): void {
  asked = false;
  if (root !== null) render(<App state={store.state()} chat={chat} />, root);
}

// The page is drawn at most once per frame, however fast text arrives.
store.subscribe(() => {
  if (!asked) requestAnimationFrame(show);
  asked = true;
});

chat.arrive(takeTokens());
show();
globalThis.addEventListener("hashchange", () => {
  const { brought } = takeTokens();
  if (brought !== undefined) chat.offer(brought);
});
