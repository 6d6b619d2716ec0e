import type { Begun, Dropped } from "../../dispatch/clients/operator.ts";
import { BY_OPERATOR } from "../../store/database/counts.ts";
import type { MessageDesk } from "../../store/journal/messages.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { InboxRow, Journal, Outcome, OutboxRow } from "../../types/journal.ts";
import { inboxRow, outboxRow } from "./list.ts";
import type { Done } from "../../types/answers/messages.ts";

/** The journal, and the gateway that owns it; no gateway when none runs. */
export interface Desk {
  readonly journal: Pick<Journal, "inbox" | "outbox"> & { readonly messages: MessageDesk };
  readonly gateway?: {
    run(row: InboxRow): Promise<Begun>;
    drop(row: InboxRow): Promise<Dropped>;
    isUnderway(outboxId: number): boolean;
    send(row: OutboxRow): void;
    unsend(outboxId: number): Promise<void>;
  };
}

const BEGUN: Readonly<Record<Begun, string>> = {
  running: "is being answered at this moment; nothing was changed",
  waiting: "waits for its turn already; nothing was changed",
  begun: "begins now",
};

/**
 * Runs a message that has no outcome, or again a message that was not answered, with the messages that were part of its
 * turn. Throws NOT_FOUND, and USAGE for a message that was answered or is run again already.
 */
export async function retryInbox({ journal, gateway }: Desk, id: number): Promise<Done> {
  const row = await inboxRow(journal.messages, id);
  const later = "goes on at the next start of the gateway";
  if (!row.outcome) return { id, did: `Message ${id} ${gateway ? BEGUN[await gateway.run(row)] : later}.` };
  refuseAnswered(id, row.outcome);
  const again = await journal.messages.runAgain(id);
  if (!again) throw new Error(`row ${id} is done and cannot be run again`);
  if (again.kind === "standing") throw runAlready(id, again.copy);
  if (again.row.outcome) throw stillUnreadable(id, again.row.outcome);
  const how = gateway ? BEGUN[await gateway.run(again.row)] : later;
  for (const other of again.others) await gateway?.run(other);
  const rows = again.others.map((other) => other.id).join(", ");
  const more = rows === "" ? "" : ` What was part of its turn comes along: row ${rows}.`;
  return { id: again.row.id, did: `Message ${id} is run again as row ${again.row.id}: it ${how}.${more}` };
}

function stillUnreadable(id: number, outcome: Outcome): OpenClawError {
  return new OpenClawError("USAGE", {
    message: `Message ${id} is not run again: ${describeOutcome(outcome)}.`,
    fix: "Its channel has offered it in a shape that this version cannot read. Try again after an update.",
  });
}

function runAlready(id: number, { id: copy, outcome }: InboxRow): OpenClawError {
  return new OpenClawError("USAGE", {
    message: `Message ${id} was run again already, as row ${copy}: ${outcome ? describeOutcome(outcome) : "it has no outcome yet"}.`,
    fix: `See what became of it: openclaw inbox show ${copy}`,
  });
}

function refuseAnswered(id: number, outcome: Outcome): void {
  if (outcome.kind === "failed" || outcome.kind === "dropped" || outcome.kind === "aborted") return;
  throw new OpenClawError("USAGE", {
    message: `Message ${id} is not run again: ${describeOutcome(outcome)}.`,
    fix:
      outcome.kind === "merged"
        ? `It is run again with the message of its turn: openclaw inbox retry ${outcome.into}`
        : "Only messages without an outcome, or that were dropped, stopped or failed, are run again.",
  });
}

const DROPPED: Readonly<Record<Exclude<Dropped, "ended">, string>> = {
  stopped: "was being answered; its run was stopped",
  waiting: "waited for its turn and was taken out",
  continues: "is ended, but its words are part of a turn that goes on with other messages",
  idle: "was not in work and is ended",
};

/** Ends a message without an answer. Throws NOT_FOUND, and USAGE for one that has ended. */
export async function dropInbox({ journal, gateway }: Desk, id: number): Promise<Done> {
  const row = await inboxRow(journal.messages, id);
  if (row.outcome) throw endedAlready(id, row.outcome);
  if (gateway) {
    const dropped = await gateway.drop(row);
    if (dropped === "ended") throw endedAlready(id, (await inboxRow(journal.messages, id)).outcome);
    return { id, did: `Message ${id} ${DROPPED[dropped]}.` };
  }
  const unsent = await unsentOf(row, journal);
  await Promise.all([
    journal.inbox.finish([id], { kind: "dropped", why: BY_OPERATOR }),
    ...unsent.map((reply) => journal.outbox.mark(reply.id, DROPPED_REPLY)),
  ]);
  const rows = unsent.map((reply) => reply.id).join(", ");
  const more = rows === "" ? "" : `, and so is what was not sent of its answer (reply row ${rows})`;
  return { id, did: `Message ${id} is ended${more}; the gateway does not run.` };
}

function endedAlready(id: number, outcome: Outcome | undefined): OpenClawError {
  return new OpenClawError("USAGE", {
    message: `Message ${id} has ended already: ${outcome ? describeOutcome(outcome) : "its run is over"}.`,
    fix: "Only messages without an outcome can be dropped: openclaw inbox list",
  });
}

/** The unsent rows of a message's answer; none when the answer is also for other messages that are still open. */
async function unsentOf({ id, runId }: InboxRow, { inbox, outbox }: Desk["journal"]): Promise<readonly OutboxRow[]> {
  const turn = runId === undefined ? [] : await inbox.ofRun(runId);
  if (turn.some((other) => other.id !== id && !other.outcome)) return [];
  return (await outbox.of(id)).filter(({ state }) => state !== "sent" && state !== "failed");
}

const DROPPED_REPLY = { state: "failed", error: BY_OPERATOR, isGivenUp: true } as const;

/** Sends a chunk that was not sent. Throws NOT_FOUND, and USAGE for one that was. */
export async function retryOutbox({ journal, gateway }: Desk, id: number): Promise<Done> {
  await outboxRow(journal.messages, id);
  if (gateway?.isUnderway(id) === true) {
    return { id, did: `Reply ${id} is on its way and is tried again by itself; nothing was changed.` };
  }
  const row = await journal.messages.sendAgain(id);
  if (!row) throw alreadyEnded(id, "sent");
  gateway?.send(row);
  const when = gateway ? "goes out now" : "goes out at the next start of the gateway";
  const how = row.state === "unknown" && row.editOf === undefined ? ", marked as a possible repeat" : "";
  return { id, did: `Reply ${id} ${when}${how}.` };
}

/** Gives up on an unsent chunk. Throws NOT_FOUND, and USAGE for one that has ended. */
export async function dropOutbox({ journal, gateway }: Desk, id: number): Promise<Done> {
  const { state } = await outboxRow(journal.messages, id);
  if (state === "sent" || state === "failed") throw alreadyEnded(id, state);
  if (gateway) await gateway.unsend(id);
  else await journal.outbox.mark(id, DROPPED_REPLY);
  const doubt = state === "planned" ? "" : "; it may have arrived";
  return { id, did: `Reply ${id} is given up${doubt}.` };
}

function alreadyEnded(id: number, state: "sent" | "failed"): OpenClawError {
  return new OpenClawError("USAGE", {
    message: `Reply ${id} ${state === "sent" ? "was sent" : "was given up already"}.`,
    fix: "See those that were not sent: openclaw outbox list",
  });
}

/** The outcome of a message as text. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "replied":
      return "it was answered";
    case "silent":
      return "the agent chose to say nothing";
    case "command":
      return `it was the command /${outcome.name}`;
    case "steered":
      return "it went into a turn that was running";
    case "merged":
      return `it became part of the turn of row ${outcome.into}`;
    case "aborted":
      return "it was stopped";
    case "dropped":
      return `it was dropped: ${outcome.why}`;
    case "failed":
      return `it failed: ${outcome.why}`;
  }
}
