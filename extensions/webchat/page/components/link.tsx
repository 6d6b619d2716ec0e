import type { VNode } from "preact";
import type { Chat } from "../model/chat.ts";
import type { Link } from "../model/state.ts";
import { useNow } from "./common/hooks.ts";

const LABELS: Readonly<Record<Link["state"], string>> = {
  connecting: "Connecting",
  connected: "Connected",
  waiting: "Reconnecting",
  offline: "Offline",
  unauthorized: "Not signed in",
  refused: "Refused",
};

/** The state of the connection. Screen readers do not read the seconds. */
export function LinkState(props: { link: Link }): VNode {
  const { link } = props;
  const now = useNow(500, link.state === "waiting");
  const seconds = link.state === "waiting" ? Math.max(0, Math.ceil((link.retryAt - now) / 1000)) : 0;
  return (
    <div class={`link-state ${link.state}`}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{LABELS[link.state]}</span>
      {link.state === "waiting" && <span aria-hidden="true">{seconds > 0 ? ` in ${seconds} s` : "…"}</span>}
    </div>
  );
}

/** Why there is no connection, and a button to reconnect now. */
export function LinkBanner(props: { link: Link; chat: Chat }): VNode | null {
  const { link, chat } = props;
  if (link.state !== "waiting" && link.state !== "refused" && link.state !== "offline") return null;
  const reason = link.state === "waiting" ? link.reason : undefined;
  const message = link.state === "refused" ? link.message : (reason ?? "This device is offline.");
  return (
    <div class="banner">
      <p>{message} Messages that you send wait here until the connection is back.</p>
      <button type="button" class="quiet" onClick={() => chat.retryNow()}>
        Try now
      </button>
    </div>
  );
}
