import type { HistoryLine, InboundMessage } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";

/** Commands that concern the conversations of all agents of a chat. Other commands are for the first agent. */
const FOR_ALL = new Set(["stop", "new", "reset", "compact"]);

interface Said {
  /** The command that the message gives; unset when it gives none. */
  readonly command: string | undefined;
  /** Takes the earlier lines of the chat. */
  history(): readonly HistoryLine[];
}

/**
 * Stores a copy of the message for each agent that answers its chat, with the session of that agent, and ends the
 * message as a part of the first copy. A copy that waits for another copy is in the other's `whenEnded`. After a crash
 * in between, the same copies are found again. Returns the new copies; undefined when one agent answers the chat, and
 * for a copy.
 */
export async function forSeveral(
  row: InboxRow,
  { command, history }: Said,
  ports: Pick<DispatchPorts, "storage" | "log" | "settings">,
): Promise<readonly InboxRow[] | undefined> {
  const { message } = row;
  if (message.options?.sessionKey !== undefined || message.options?.operator === true) return undefined;
  const found = ports.settings().broadcast?.(message);
  if (!found) return undefined;
  const isForAll = command === undefined || FOR_ALL.has(command);
  const pending = history();
  const copies = (isForAll ? found.keys : found.keys.slice(0, 1)).map((key) => copyFor(message, key, pending));
  return store(row, found.strategy === "sequential" && command === undefined ? inTurn(copies) : copies, ports);
}

const copyFor = (message: InboundMessage, key: SessionKey, pending: readonly HistoryLine[]): InboundMessage => ({
  ...message,
  eventKey: `${message.eventKey}#to-${key}`,
  options: { ...message.options, sessionKey: key, ...(pending.length > 0 && { pending }) },
});

/** The first copy, whose end brings the next copy. */
function inTurn(copies: readonly InboundMessage[]): readonly InboundMessage[] {
  const first = copies.reduceRight<InboundMessage | undefined>(
    (next, copy) => (next ? { ...copy, options: { ...copy.options, whenEnded: next } } : copy),
    undefined,
  );
  return first ? [first] : [];
}

async function store(
  row: InboxRow,
  copies: readonly InboundMessage[],
  { storage: { journal }, log }: Pick<DispatchPorts, "storage" | "log">,
): Promise<readonly InboxRow[]> {
  const accepted = await journal.inbox.accept(copies);
  const [first] = accepted;
  if (first) await journal.inbox.finish([row.id], { kind: "merged", into: first.row.id });
  log.info("message for several agents", { inbox: row.id, copies: accepted.map((copy) => copy.row.id) });
  return accepted.flatMap((copy) => (copy.isNew ? [copy.row] : []));
}
