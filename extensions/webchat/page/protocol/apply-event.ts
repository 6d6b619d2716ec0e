import { LostError } from "./connection.ts";
import { fields, text } from "./json.ts";
import { readApproval } from "./protocol.ts";
import type { Reading } from "../reading.ts";
import { isOpen } from "../state.ts";
import type { Store } from "../store.ts";

/** Applies one event of the gateway to the state, and reloads what it made outdated. */
export function applyEvent(store: Store, reading: Reading, heard: { event: string; payload: unknown }): void {
  const { event, payload } = heard;
  switch (event) {
    case "chat":
    case "agent":
      return hearRun(store, reading, { type: event, payload });
    case "exec.approval.requested": {
      const approval = readApproval(payload);
      return approval === undefined ? undefined : store.dispatch({ type: "approval", approval });
    }
    case "exec.approval.resolved":
      return store.dispatch({ type: "resolved", id: text(fields(payload)["id"]) });
    case "pairing.requested":
    case "pairing.resolved":
      return read(store, reading.pairings());
    case "sessions.changed":
      return read(store, reading.sessions());
    case "health":
    case "config.changed":
      return read(store, reading.status());
    default:
      return undefined;
  }
}

function hearRun(store: Store, reading: Reading, heard: { type: "chat" | "agent"; payload: unknown }): void {
  const before = store.state().exchanges;
  store.dispatch({ ...heard, at: Date.now() });
  if (heard.type !== "chat") return;
  const event = fields(heard.payload);
  if (!isOpen(store.state(), text(event["sessionKey"]))) return;
  const isNew = !before.some((exchange) => exchange.runId === event["runId"]);
  const isOver = event["state"] === "final" || event["state"] === "aborted" || event["state"] === "error";
  // The events do not contain another client's message, so the transcript is also read when its run begins.
  if (isOver)
    read(
      store,
      reading.history().then(() => reading.sessions()),
    );
  else if (isNew) read(store, reading.history());
}

function read(store: Store, reading: Promise<void>): void {
  reading.catch((error: unknown) => {
    // After a lost connection, everything is read again.
    if (error instanceof LostError) return;
    store.dispatch({ type: "notice", text: error instanceof Error ? error.message : "The gateway could not be read." });
  });
}
