import { NoAnswerError } from "./connection.ts";
import { fields, text } from "./json.ts";
import { readApproval } from "./protocol.ts";
import type { Reading } from "../reading.ts";
import { isOpen } from "../state.ts";
import type { Store } from "../store.ts";

/** Applies one event of the gateway to the state, and reads again what the event made outdated. */
export function applyEvent(store: Store, reading: Reading, received: { event: string; payload: unknown }): void {
  const { event, payload } = received;
  switch (event) {
    case "chat":
    case "agent":
      return applyRunEvent(store, reading, { type: event, payload });
    case "exec.approval.requested": {
      const approval = readApproval(payload);
      return approval === undefined ? undefined : store.dispatch({ type: "approval", approval });
    }
    case "exec.approval.resolved":
      return store.dispatch({ type: "resolved", id: text(fields(payload)["id"]) });
    case "pairing.requested":
    case "pairing.resolved":
      return refresh(store, reading.pairings());
    case "sessions.changed":
      return refresh(store, reading.sessions());
    case "health":
    case "config.changed":
      return refresh(store, reading.status());
    default:
      return undefined;
  }
}

function applyRunEvent(store: Store, reading: Reading, received: { type: "chat" | "agent"; payload: unknown }): void {
  const knownBefore = store.state().exchanges;
  store.dispatch({ ...received, at: Date.now() });
  if (received.type !== "chat") return;
  const event = fields(received.payload);
  if (!isOpen(store.state(), text(event["sessionKey"]))) return;
  const isNew = !knownBefore.some((exchange) => exchange.runId === event["runId"]);
  const isOver = event["state"] === "final" || event["state"] === "aborted" || event["state"] === "error";
  // The events do not contain another client's message, so the transcript is also read when its run begins.
  if (isOver)
    refresh(
      store,
      reading.history().then(() => reading.sessions()),
    );
  else if (isNew) refresh(store, reading.history());
}

function refresh(store: Store, reading: Promise<void>): void {
  reading.catch((error: unknown) => {
    // After a lost connection, the page reads everything again.
    if (error instanceof NoAnswerError) return;
    store.dispatch({
      type: "notice",
      text: error instanceof Error ? error.message : "The gateway's data could not be read.",
    });
  });
}
