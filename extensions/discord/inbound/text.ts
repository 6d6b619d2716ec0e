import type { APIGuildMember, APIMessage, APIMessageSnapshotFields, APIUser } from "discord-api-types/v10";
import { openingMentionEnd, type Sender } from "openclaw/plugin-sdk";
import type { Places } from "./places.ts";

/** Names for the ids in a text. */
export interface Names {
  readonly users: readonly Pick<APIUser, "id" | "username" | "global_name">[];
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

export const nameOf = (user: Pick<APIUser, "username" | "global_name">): string => user.global_name ?? user.username;

/** A person, by the name that the guild knows. */
export const userOf = (user: APIUser, member?: Partial<Pick<APIGuildMember, "nick" | "roles">>): Sender => ({
  id: user.id,
  name: member?.nick ?? nameOf(user),
  username: user.username,
  ...(user.bot === true && { isBot: true }),
  ...(member?.roles && { roles: member.roles }),
});

/** Lines about stickers, polls, embeds and forwarded messages. */
export function untrustedOf(message: APIMessage): readonly string[] {
  const { sticker_items: stickers = [], poll, embeds, content, author, webhook_id: webhook } = message;
  // People's embeds are previews of the links in their text; a bot's embeds are its message.
  const shown = author.bot === true || webhook !== undefined || content === "" ? embeds : [];
  return [
    ...stickers.map((sticker) => `Sticker: ${sticker.name}`),
    ...(poll ? [`Poll: ${poll.question.text ?? ""} (${poll.answers.map(answerOf).join(" / ")})`] : []),
    ...shown.map(embedLine).filter((line) => line !== ""),
    ...snapshotsOf(message).map((snapshot) => `Forwarded message: ${snapshot.content}`),
  ];
}

const answerOf = ({ poll_media: { text } }: { poll_media: { text?: string | undefined } }): string => text ?? "";

/** The messages that a message forwards. */
export const snapshotsOf = (message: APIMessage): readonly APIMessageSnapshotFields[] =>
  (message.message_snapshots ?? []).map((snapshot) => snapshot.message);

function embedLine(embed: APIMessage["embeds"][number]): string {
  const fields = (embed.fields ?? []).map(({ name, value }) => `${name}: ${value}`);
  const parts = [embed.title, embed.description, ...fields].filter((part) => part !== undefined && part !== "");
  return parts.length === 0 ? "" : `Embed: ${parts.join(" | ")}`;
}
