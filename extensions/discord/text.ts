import { openingMentionEnd, type Sender } from "openclaw/plugin-sdk";
import type { Embed, Member, Message, Person, PlainMessage, Snapshot } from "./message-shape.ts";
import type { Places } from "./places.ts";

/** Names for the ids in a text. */
export interface Names {
  readonly users: readonly Person[];
  readonly roles: ReadonlyMap<string, string>;
  readonly places: Places;
  readonly selfId: string;
  /** Ids of the bot's roles: Discord's input offers the role of the bot's name next to the bot. */
  readonly ownRoles?: readonly string[];
}

/** A message's text as people see it, without the bot's name at its start, so that a command can follow the name. */
export function readable(content: string, names: Names): string {
  const ours = [names.selfId, `!${names.selfId}`, ...(names.ownRoles ?? []).map((id) => `&${id}`)].map(
    (id) => `<@${id}>`,
  );
  const lengthAt = (offset: number) => ours.find((mention) => content.startsWith(mention, offset))?.length ?? 0;
  return content
    .slice(openingMentionEnd(content, lengthAt))
    .replace(/<@!?(\d+)>/g, (whole, id: string) => {
      const user = names.users.find((candidate) => candidate.id === id);
      return user ? `@${nameOf(user)}` : whole;
    })
    .replace(/<@&(\d+)>/g, (whole, id: string) => withMark("@", names.roles.get(id)) ?? whole)
    .replace(/<#(\d+)>/g, (whole, id: string) => withMark("#", names.places.name(id)) ?? whole)
    .replace(/<a?(:\w+:)\d+>/g, "$1")
    .replace(/<(\/[^:>]+):\d+>/g, "$1")
    .replace(/<t:(-?\d{1,12})(?::[a-zA-Z])?>/g, (_, seconds: string) => new Date(Number(seconds) * 1000).toISOString());
}

const withMark = (mark: string, name: string | undefined): string | undefined =>
  name === undefined ? undefined : mark + name;

type Named = Pick<Person, "id"> & Readonly<Partial<Record<"username" | "global_name", string | null | undefined>>>;

export const nameOf = ({ id, username, global_name: name }: Named): string => name ?? username ?? id;

/** A person, by the name that the guild knows. */
export const authorOf = (user: Named & { bot?: boolean | undefined }, member?: Partial<NameInGuild>): Sender => ({
  id: user.id,
  name: member?.nick ?? nameOf(user),
  ...(user.username != null && { username: user.username }),
  ...(user.bot === true && { isBot: true }),
  ...(member?.roles && { roles: member.roles }),
});
type NameInGuild = Readonly<{ nick: string | null | undefined; roles: Member["roles"] }>;

/** Lines about stickers, polls, embeds and forwarded messages. */
export function untrustedOf(message: PlainMessage, names: Names): readonly string[] {
  const { poll, author, webhook_id: webhook } = message;
  const isBots = author.bot === true || webhook !== undefined;
  return [
    ...stickerLines(message),
    ...(poll
      ? [`Poll: ${poll.question.text} (${poll.answers.map((answer) => answer.poll_media.text).join(" / ")})`]
      : []),
    ...embedLines(message, isBots, names),
    ...snapshotsOf(message).map((snapshot) => forwardedLine(snapshot, names)),
  ];
}

/** The whole content of a message, for a place that has only a text of it. */
export const wholeText = (message: PlainMessage, names: Names): string =>
  [readable(message.content, names), ...untrustedOf(message, names)].filter((line) => line !== "").join("\n");

/** The messages that a message forwards. */
export const snapshotsOf = ({
  message_snapshots: snapshots,
}: Pick<Message, "message_snapshots">): readonly Snapshot[] => snapshots.map(({ message }) => message);

const stickerLines = ({ sticker_items: stickers }: Snapshot): readonly string[] =>
  stickers.map(({ name }) => `Sticker: ${name}`);

/** Discord does not say who wrote a forwarded message. */
function forwardedLine(snapshot: Snapshot, names: Names): string {
  const inIt = { ...names, users: [...names.users, ...snapshot.mentions] };
  const lines = [readable(snapshot.content, inIt), ...stickerLines(snapshot), ...embedLines(snapshot, false, inIt)];
  return `Forwarded message: ${lines.filter((line) => line !== "").join("\n")}`;
}

/** People's embeds are previews of the links in their text; a bot's embeds are its message. */
const embedLines = ({ content, embeds }: Snapshot, isBots: boolean, names: Names): readonly string[] =>
  isBots || content === "" ? embeds.map((embed) => embedLine(embed, names)).filter((line) => line !== "") : [];

function embedLine({ author, title, description, fields, footer, url, image }: Embed, names: Names): string {
  const written = [author?.name, title, description, ...fields.map(({ name, value }) => `${name}: ${value}`)];
  const parts = [...written.map((part) => part && readable(part, names)), footer?.text, url, image?.url];
  const given = parts.filter((part) => part !== undefined && part !== "");
  return given.length === 0 ? "" : `Embed: ${given.join(" | ")}`;
}
