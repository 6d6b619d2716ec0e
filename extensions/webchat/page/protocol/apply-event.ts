import { NoAnswerError } from "./connection.ts";
import { fields, text } from "./json.ts";
import { readApproval } from "./protocol.ts";
import type { Reading } from "../reading.ts";
import { isOpen } from "../state.ts";
import type { Store } from "../store.ts";

/** What an event makes outdated, for events that change nothing else. */
const OUTDATED: ReadonlyMap<string, (reading: Reading) => Promise<void>> = new Map([
  ["pairing.requested", (reading) => reading.pairings()],
  ["pairing.resolved", (reading) => reading.pairings()],
  ["sessions.changed", (reading) => reading.sessions()],
  ["health", (reading) => reading.status()],
  ["config.changed", (reading) => reading.config()],
]);

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
    case "session.queue": {
      const isShown = isOpen(store.state(), text(fields(payload)["sessionKey"]));
      return isShown ? refresh(store, reading.waiting()) : undefined;
    }
    default: {
      const read = OUTDATED.get(event);
      return read === undefined ? undefined : refresh(store, read(reading));
    }
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
