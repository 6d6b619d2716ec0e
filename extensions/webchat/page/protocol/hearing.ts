import { LostError } from "./connection.ts";
import { fields, text } from "./json.ts";
import { readApproval } from "./protocol.ts";
import type { Reading } from "../reading.ts";
import { isOpen } from "../state.ts";
import type { Store } from "../store.ts";

/** Takes one event from the gateway into the state, and reads again what it made old. */
export function hearEvent(store: Store, reading: Reading, heard: { event: string; payload: unknown }): void {
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
  // Another client's message is not in the events, so the transcript is read when its run begins, too.
  if (isOver)
    read(
      store,
      reading.history().then(() => reading.sessions()),
    );
  else if (isNew) read(store, reading.history());
}

function read(store: Store, reading: Promise<void>): void {
  reading.catch((error: unknown) => {
    // A lost connection is followed by reading everything.
    if (error instanceof LostError) return;
    store.dispatch({ type: "notice", text: error instanceof Error ? error.message : "The gateway could not be read." });
  });
}
