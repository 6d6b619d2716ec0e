import type { DispatchPorts } from "../../dispatch/ports.ts";
import type { StoryStep } from "../../types/answers/messages.ts";
import type { StoryAsk, StoryDesk } from "../../types/desks.ts";
import type { MessageSource } from "../../store/journal/read-only.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import { messageFacts, type MessageFacts, stepsOf } from "../messages/steps.ts";
import { messagesNamed } from "../messages/find.ts";

/** The desk for the steps of messages. `settings`: the rules by which a message belongs to a conversation. */
export const storyDesk = (journal: MessageSource, settings: DispatchPorts["settings"]): StoryDesk => ({
  of: (asked) => storiesFor(journal, asked, (message) => settings().keyFor(message)),
});

/** Most messages of the channel that are looked through for messages of one conversation. */
const MOST_LOOKED = 1000;

/**
 * The steps of a message of one conversation, and those of each copy that was run again. `keyFor` gives the
 * conversation of a message that was not taken.
 */
async function storiesFor(
  journal: MessageSource,
  asked: StoryAsk,
  keyFor: (message: InboundMessage) => SessionKey,
): Promise<readonly (readonly StoryStep[])[]> {
  const isOfIt = ({ sessionKey, message }: InboxRow) =>
    (sessionKey ?? message.options?.sessionKey ?? keyFor(message)) === asked.session;
  const rows = (await rowsOf(journal, asked)).filter(isOfIt);
  const row = "id" in asked.which ? rows[0] : rows[asked.which.back];
  if (!row) return [];
  const facts = await messageFacts(journal, row);
  const copies = await Promise.all(facts.again.map((copy) => messageFacts(journal, copy)));
  return [facts, ...copies].map((one) => stepsOf(asked.isOwner ? one : withoutWords(one)));
}

/**
 * The messages of the id that was asked for; without an id those of the channel, latest first, without commands, copies
 * that were run again and the asking message itself.
 */
async function rowsOf(journal: MessageSource, { which, before }: StoryAsk): Promise<readonly InboxRow[]> {
  if ("id" in which) return messagesNamed(journal, which.id);
  const rows = await journal.messages.inboxRows(MOST_LOOKED, { channel: before.from.channel });
  return rows.filter(
    ({ message, outcome, againOf }) =>
      message.eventKey !== before.eventKey && outcome?.kind !== "command" && againOf === undefined,
  );
}

/** The facts without the words of providers, tools and engines, which are for owners. */
function withoutWords({ row, run, ...facts }: MessageFacts): MessageFacts {
  return { ...facts, row: withoutReason(row), ...(run && { run: { ...run, receipt: plainReceipt(run.receipt) } }) };
}

const withoutReason = (row: InboxRow): InboxRow =>
  row.outcome?.kind === "failed"
    ? { ...row, outcome: { kind: "failed", why: row.outcome.why.replace(/:[^]*$/, "") } }
    : row;

function plainReceipt(receipt: NonNullable<MessageFacts["run"]>["receipt"]) {
  const { tries = [], skipped: _keys, lastToolError: _tool, engineDegraded: _engine, ...more } = receipt;
  const { removed: _rules, notAttached: _files, ...rest } = more;
  return { ...rest, tries: tries.map(({ message: _said, profile: _key, ...one }) => one) };
}
