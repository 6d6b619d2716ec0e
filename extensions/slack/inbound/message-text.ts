import { openingMentionEnd } from "openclaw/plugin-sdk";

/** Looks up the names of the ids in a message. Undefined where the name is unknown. */
export interface NameLookup {
  user(id: string): Promise<string | undefined>;
  channel(id: string): Promise<string | undefined>;
}

/** Everything in angle brackets: mentions, links, special mentions (docs.slack.dev/messaging/formatting-message-text). */
const BRACKETS = /<([^<>]+)>/g;

const unescapeText = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Escapes Slack's three special characters. */
export const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Whether a message mentions a user. */
export const isMentioned = (text: string, userId: string): boolean =>
  text.includes(`<@${userId}>`) || text.includes(`<@${userId}|`);

/** A message as people read it. A mention of `self` at the beginning is left out, so that a command after it is found. */
export async function readableText(text: string, self: string, lookup: NameLookup): Promise<string> {
  const ours = new RegExp(`<@${self}(?:\\|[^<>]*)?>`, "y");
  const body = text.slice(openingMentionEnd(text, (offset) => lengthOf(ours, text, offset)));
  // Every second part is the inside of brackets.
  const parts = body.split(BRACKETS);
  const rendered = parts.map(async (part, at) => (at % 2 === 0 ? unescapeText(part) : renderBracket(part, lookup)));
  return (await Promise.all(rendered)).join("").trim();
}

function lengthOf(mention: RegExp, text: string, offset: number): number {
  mention.lastIndex = offset;
  return mention.exec(text)?.[0].length ?? 0;
}

async function renderBracket(inner: string, lookup: NameLookup): Promise<string> {
  const at = inner.indexOf("|");
  const [target, label] = at < 0 ? [inner, ""] : [inner.slice(0, at), unescapeText(inner.slice(at + 1))];
  const id = target.slice(1);
  if (target.startsWith("@")) return `@${label || ((await lookup.user(id)) ?? id)}`;
  if (target.startsWith("#")) return `#${label || ((await lookup.channel(id)) ?? id)}`;
  if (target.startsWith("!")) return renderSpecial(id, label);
  const address = unescapeText(target);
  const bare = address.replace(/^(?:mailto|tel):/, "");
  return label === "" || label === address || label === bare ? bare : `${label} (${address})`;
}

/** `<!here>`, `<!subteam^S1|@team>`, `<!date^…|tomorrow>`. */
function renderSpecial(word: string, label: string): string {
  if (label !== "") return label;
  return word.startsWith("subteam^") ? `@${word.slice("subteam^".length)}` : `@${word.replace(/\^.*$/, "")}`;
}
