import { abandonTurn } from "../notices/unanswered-turns.ts";
import type { Session, TranscriptEntry } from "../../types/session.ts";
import { shorten } from "../../utils/text/shorten.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";

/** Entries of the conversation that are searched for the last turn. */
const MOST_SEARCHED = 2000;
/** UTF-16 units of the answer that is left out, by which people recognise it. */
const MOST_SHOWN = 80;

/** The engine that has no memory but the transcript. */
const BUILT_IN_ENGINE = "legacy";

const NOTHING = "There is nothing to undo in this conversation.";
const BEYOND = "The conversation was summarised after your last message, so that cannot be left out any more.";

/**
 * Leaves the last turn of a person, with all that followed it, out of the conversation. The file keeps it as another
 * branch.
 */
export async function undoTurn({ key, ports }: CommandContext, session: Session): Promise<CommandAnswer> {
  // No transcript may be ahead of the journal.
  await ports.storage.journal.inbox.synced();
  const entries = await session.newest(MOST_SEARCHED);
  const turn = entries.findLast(isPersonsTurn);
  if (!turn) return { text: entries.some(({ type }) => type === "compaction") ? BEYOND : NOTHING };
  const after = entries.slice(entries.indexOf(turn) + 1);
  const isSummarised = after.some(({ type }) => type === "compaction");
  if (isSummarised || (await session.parentOf(turn.id)) === undefined) return { text: BEYOND };
  const answer = answerIn(after);
  await abandonTurn(session, turn.id, ports.log, "undone");
  await session.sync();
  await session.update({ totalTokensFresh: false }, { now: true });
  const engine = (await ports.storage.journal.runs.last(key))?.receipt.engine;
  const lines = [
    answer === undefined
      ? "The last turn is left out of the conversation."
      : `The last turn is left out of the conversation, with my answer: “${answer}”`,
    "What my tools did and what was sent stays as it is.",
    ...(engine === undefined || engine === BUILT_IN_ENGINE
      ? []
      : [`The context engine ${engine} has its own memory and may still know it.`]),
  ];
  return { text: lines.join("\n") };
}

/**
 * Whether an entry is the message of a person with which a turn began: no message that joined the turn later, and none
 * of the gateway itself.
 */
const isPersonsTurn = (entry: TranscriptEntry): boolean =>
  entry.type === "message" &&
  entry.message.role === "user" &&
  entry.message.steered !== true &&
  (entry.message.provenance === undefined || entry.message.provenance.kind === "third-party_user");

function answerIn(entries: readonly TranscriptEntry[]): string | undefined {
  const texts = entries.flatMap((entry) => {
    if (entry.type !== "message" || entry.message.role !== "assistant") return [];
    return entry.message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });
  const text = texts.at(-1)?.replaceAll(/\s+/g, " ").trim();
  return text === undefined || text === "" ? undefined : shorten(text, MOST_SHOWN, () => " … ");
}
