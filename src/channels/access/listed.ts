import type { InboundMessage } from "../../types/chat/message.ts";

/**
 * Whether a list names the sender: by id, phone number, `@username`, each also as `<channel>:…`, or by `*`. Numbers may be
 * written without their plus, ids as a mention (`<@42>`), usernames without the `@` where no id looks like that.
 */
export function isListed({ sender, from }: Pick<InboundMessage, "sender" | "from">, list: readonly string[]): boolean {
  const { id, username, e164 } = sender;
  const names = new Set(["*"]);
  // An empty name is nobody's.
  if (id) names.add(id.toLowerCase());
  if (username) names.add(`@${username.toLowerCase()}`);
  if (e164) names.add(e164);
  return list.some((entry) => {
    const plain = withoutPrefix(entry, from.channel);
    const isNamed = [plain.toLowerCase(), asUsername(plain)].some((name) => name !== undefined && names.has(name));
    return isNamed || (e164 !== undefined && e164 === asNumber(plain));
  });
}

/** Whether a list lets everybody in. */
export const hasEverybody = (list: readonly string[], channel: string): boolean =>
  list.some((entry) => withoutPrefix(entry, channel) === "*");

/** Whether an entry names somebody by what they may give up. */
export const namesUsername = (entry: string, channel: string): boolean =>
  asUsername(withoutPrefix(entry, channel)) !== undefined;

function withoutPrefix(entry: string, channel: string): string {
  const bare = entry.trim().replace(new RegExp(`^(?:${channel}|tg|user):`, "i"), "");
  return /^<@!?([^|>]+)(?:\|[^>]*)?>$/.exec(bare)?.[1] ?? bare;
}

/** An entry as `@username`; undefined where it may be an id: those have digits alone, capitals alone, or other signs. */
function asUsername(plain: string): string | undefined {
  if (plain.startsWith("@")) return plain === "@" ? undefined : plain.toLowerCase();
  return /^[a-z_][\w.]*$/i.test(plain) && /[a-z]/.test(plain) ? `@${plain.toLowerCase()}` : undefined;
}

const asNumber = (plain: string): string | undefined =>
  /^\+?\d[\d\s().-]{4,}$/.test(plain) ? `+${plain.replaceAll(/\D/g, "")}` : undefined;
