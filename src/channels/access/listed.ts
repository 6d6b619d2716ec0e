import type { InboundMessage } from "../../types/chat/message.ts";

/**
 * Whether a list names the sender: by id, phone number or `@username`, each optionally with `<channel>:` before it, or by `*`.
 * A number may lack its plus, an id may be written as a mention (`<@42>`), and a username may lack the `@` unless it could be an id.
 */
export function isListed({ sender, from }: Pick<InboundMessage, "sender" | "from">, list: readonly string[]): boolean {
  const { id, username, e164 } = sender;
  const names = new Set(["*"]);
  // An empty id or username matches nobody.
  if (id) names.add(id.toLowerCase());
  if (username) names.add(`@${username.toLowerCase()}`);
  if (e164) names.add(e164);
  return list.some((entry) => {
    const plain = withoutPrefix(entry, from.channel);
    const isNamed = [plain.toLowerCase(), asUsername(plain)].some((name) => name !== undefined && names.has(name));
    return isNamed || (e164 !== undefined && e164 === asNumber(plain));
  });
}

/** Whether a list allows everybody. */
export const hasEverybody = (list: readonly string[], channel: string): boolean =>
  list.some((entry) => withoutPrefix(entry, channel) === "*");

/** Whether an entry is a username. Its owner may give it up, and somebody else may take it. */
export const namesUsername = (entry: string, channel: string): boolean =>
  asUsername(withoutPrefix(entry, channel)) !== undefined;

function withoutPrefix(entry: string, channel: string): string {
  const bare = entry.trim().replace(new RegExp(`^(?:${channel}|tg|user):`, "i"), "");
  return /^<@!?([^|>]+)(?:\|[^>]*)?>$/.exec(bare)?.[1] ?? bare;
}

/** An entry as `@username`; undefined when it may be an id: ids have only digits, only capitals, or other characters. */
function asUsername(plain: string): string | undefined {
  if (plain.startsWith("@")) return plain === "@" ? undefined : plain.toLowerCase();
  return /^[a-z_][\w.]*$/i.test(plain) && /[a-z]/.test(plain) ? `@${plain.toLowerCase()}` : undefined;
}

const asNumber = (plain: string): string | undefined =>
  /^\+?\d[\d\s().-]{4,}$/.test(plain) ? `+${plain.replaceAll(/\D/g, "")}` : undefined;
