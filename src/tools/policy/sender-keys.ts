/** An entry of `toolsBySender`, by its way of naming senders. */
export type SenderKey =
  | { readonly kind: "all"; readonly channel?: string }
  | { readonly kind: "id" | "e164" | "username" | "name"; readonly channel?: string; readonly text: string };

const KINDS = new Set(["id", "e164", "username", "name"]);

/** An id with WhatsApp's device and server, which for a phone number add nothing to the number. */
const PHONE_JID = /^\+?(\d+)(?::\d+)?@(?:s\.whatsapp\.net|c\.us)$/;
const MENTION = /^<@!?([\w-]+)>$/;
const PHONE = /^(?:\+|00)[\d\s().-]+$/;

/** The digits of a phone number, without the zeros that replace the plus sign. */
export const digitsOf = (text: string): string => text.replaceAll(/\D/g, "").replace(/^00/, "");

/** An id in one notation: a phone number is `+` with its digits, `<@7>` is `7`. Pure. */
export function plainId(text: string): string {
  const plain = text.normalize("NFKC").trim().toLowerCase();
  const jid = PHONE_JID.exec(plain)?.[1];
  if (jid !== undefined) return `+${jid}`;
  if (PHONE.test(plain)) return `+${digitsOf(plain)}`;
  return MENTION.exec(plain)?.[1] ?? plain;
}

/** A username or a display name in one notation. Pure. */
export const plainName = (text: string): string =>
  text.normalize("NFKC").trim().toLowerCase().replace(/^@\s*/, "").replaceAll(/\s+/g, " ");

/**
 * Reads an entry of `toolsBySender`: `channel:<channel>:<id>`, `<channel>:<id>`, `id:`, `e164:`, `username:`, `name:`,
 * `@username`, `*` or an id alone, in any case and with blanks around each part. Pure.
 */
export function readSenderKey(key: string): SenderKey {
  const plain = key.normalize("NFKC").trim().toLowerCase();
  if (plain === "*") return { kind: "all" };
  if (PHONE_JID.test(plain)) return { kind: "id", text: plainId(plain) };
  const [first, rest] = split(plain);
  if (rest === undefined) return ofId(plain);
  if (first === "channel") {
    const [channel, id] = split(rest);
    return { ...ofChannel(id ?? ""), channel };
  }
  if (!KINDS.has(first)) return { ...ofId(rest), channel: first };
  if (first === "id") return ofKindId(rest);
  return first === "e164" ? { kind: "e164", text: digitsOf(rest) } : { kind: nameKind(first), text: plainName(rest) };
}

const nameKind = (word: string) => (word === "username" ? ("username" as const) : ("name" as const));

/** The key after a channel's name, which may have a kind of its own: `channel:telegram:username:ada`. */
const ofChannel = (text: string): SenderKey => (KINDS.has(split(text)[0]) ? readSenderKey(text) : ofId(text));

/**
 * The key after `id:`. `id:whatsapp:7` is `whatsapp:7`; an id may hold a colon of its own, so the first part is kept as
 * the channel's name.
 */
function ofKindId(text: string): SenderKey {
  const [first, rest] = split(text);
  return rest === undefined || PHONE_JID.test(text) ? ofId(text) : { ...ofId(rest), channel: first };
}

function ofId(text: string): SenderKey {
  if (text === "*") return { kind: "all" };
  return text.startsWith("@") ? { kind: "username", text: plainName(text) } : { kind: "id", text: plainId(text) };
}

/** The word before the first colon, and the text after it. */
function split(text: string): readonly [string, string | undefined] {
  const at = text.indexOf(":");
  return at < 0 ? [text, undefined] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
