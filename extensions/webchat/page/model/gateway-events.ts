import { NoAnswerError } from "./connection.ts";
import { fields, stringOr } from "./json.ts";
import { readApproval } from "./protocol.ts";
import type { Reading } from "./reading.ts";
import { isOpen } from "./state.ts";
import type { Store } from "./store.ts";
import { t } from "../words/words.ts";

/** Reads of outdated data, for events that change nothing else. */
const OUTDATED: ReadonlyMap<string, (reading: Reading) => Promise<void>> = new Map([
  ["pairing.requested", (reading) => reading.people()],
  ["pairing.resolved", (reading) => reading.people()],
  ["health", (reading) => reading.status()],
  ["config.changed", (reading) => reading.configChanged()],
]);

/** Applies one event of the gateway to the state, and reads outdated data again. */
export function applyEvent(store: Store, reading: Reading, received: { event: string; payload: unknown }): void {
  const { event, payload } = received;
  switch (event) {
    case "chat":
    case "agent":
      return applyRunEvent(store, reading, { type: event, payload });
    case "exec.approval.requested":
    case "plugin.approval.requested": {
      const approval = readApproval(payload);
      return approval === undefined ? undefined : store.dispatch({ type: "approval", approval });
    }
    case "exec.approval.resolved":
    case "plugin.approval.resolved":
      return store.dispatch({ type: "resolved", id: stringOr(fields(payload)["id"]) });
    case "sessions.changed":
      return applySessionChange(store, reading, payload);
    case "session.queue": {
      const isShown = isOpen(store.state(), stringOr(fields(payload)["sessionKey"]));
      return isShown ? refresh(store, reading.waiting()) : undefined;
    }
    default: {
      const read = OUTDATED.get(event);
      return read === undefined ? undefined : refresh(store, read(reading));
    }
  }
}

/** The changes after which the transcript of a session is another one, although no run has ended. */
const OTHER_TRANSCRIPT: ReadonlySet<unknown> = new Set(["rewind", "branch-switch", "reset"]);

function applySessionChange(store: Store, reading: Reading, payload: unknown): void {
  const { sessionKey, reason } = fields(payload);
  refresh(store, reading.sessionsChanged());
  const key = stringOr(sessionKey);
  const isOther = OTHER_TRANSCRIPT.has(reason);
  if (!isOpen(store.state(), key) || (!isOther && reason !== "notice")) return;
  if (isOther) store.dispatch({ type: "rewound", sessionKey: key });
  refresh(store, isOther ? reading.branched() : reading.history());
}

function applyRunEvent(store: Store, reading: Reading, received: { type: "chat" | "agent"; payload: unknown }): void {
  if (isOfNoRun(received.payload)) {
    const isShown = isOpen(store.state(), stringOr(fields(received.payload)["sessionKey"]));
    return isShown ? refresh(store, reading.history()) : undefined;
  }
  const knownBefore = store.state().exchanges;
  store.dispatch({ ...received, at: Date.now() });
  if (received.type !== "chat") return;
  const event = fields(received.payload);
  if (!isOpen(store.state(), stringOr(event["sessionKey"]))) return;
  const isNew = !knownBefore.some((exchange) => exchange.runId === event["runId"]);
  const isOver = event["state"] === "final" || event["state"] === "aborted" || event["state"] === "error";
  // The events do not contain another client's message, so the transcript is also read when its run begins.
  if (isOver)
    refresh(
      store,
      reading.history().then(() => reading.sessionsChanged()),
    );
  else if (isNew) refresh(store, reading.history());
}

/** Whether a message was added to a conversation without a run, as `chat.inject` does. */
const isOfNoRun = (payload: unknown): boolean => stringOr(fields(payload)["runId"]).startsWith("inject-");

function refresh(store: Store, reading: Promise<void>): void {
  reading.catch((error: unknown) => {
    // After a lost connection, the page reads everything again.
    if (error instanceof NoAnswerError) return;
    store.dispatch({
      type: "notice",
      text: error instanceof Error ? error.message : t("The gateway's data could not be read."),
    });
  });
}
