import type { InboundMessage } from "../../../types/chat/message.ts";
import type { AgentId } from "../../../types/ids.ts";
import { own } from "../../../utils/own.ts";
import type { Config } from "../../config/schema/schema.ts";

type Elevated = Config["tools"]["elevated"];
type Lists = NonNullable<Elevated["allowFrom"]>;

/**
 * Whether the sender may let commands of an agent leave its sandbox: as a list for the channel says, else as an owner.
 * The agent's own entry must allow the sender too. An operator may, unless `tools.elevated` is switched off.
 */
export function mayElevate(message: InboundMessage, agent: AgentId, config: Config): boolean {
  const { elevated } = config.tools;
  const entry = config.agents.list.find(({ id }) => id === agent)?.tools?.elevated;
  if (!elevated.enabled || entry?.enabled === false) return false;
  if (message.options?.operator === true) return true;
  return (
    isListed(message, elevated.allowFrom ?? {}, config) &&
    (!entry?.allowFrom || isListed(message, entry.allowFrom, config))
  );
}

function isListed(message: InboundMessage, lists: Lists, config: Config): boolean {
  const { channel } = message.from;
  const list = own(lists, channel) ?? config.commands.ownerAllowFrom;
  return list.some((entry) => isSender(String(entry).trim(), message));
}

/**
 * Whether an entry is about the sender: `*`, an id or phone number with or without the channel, or one name after its
 * prefix.
 */
function isSender(entry: string, { from, sender }: InboundMessage): boolean {
  const [, prefix, value = ""] = /^(id|from|e164|username|name|tag):(.+)$/.exec(entry) ?? [];
  const withChannel = (names: readonly (string | undefined)[]) =>
    names.flatMap((name) => (name === undefined ? [] : [name, `${from.channel}:${name}`]));
  const ids = withChannel([sender.id]);
  if (prefix === undefined) return entry === "*" || withChannel([sender.id, sender.e164]).includes(entry);
  // The prefix `tag` is not here: no channel has tags of its people.
  const known: Readonly<Record<string, readonly (string | undefined)[]>> = {
    id: ids,
    from: ids,
    e164: [sender.e164],
    username: [sender.username, sender.username && `@${sender.username}`],
    name: [sender.name],
  };
  return known[prefix]?.includes(value) === true;
}
