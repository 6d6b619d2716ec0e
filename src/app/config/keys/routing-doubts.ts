import { isRoute, plainPeerId } from "../../../channels/routing/bindings.ts";
import { own } from "../../../utils/own.ts";
import type { RawNote } from "../schema/problem.ts";
import type { Config } from "../schema/schema.ts";

interface Ids {
  readonly form: RegExp;
  readonly example: string;
}

/** Forms of the ids of chats, threads and people in the messages of bundled channels. */
const IDS: Readonly<Record<string, { readonly direct: Ids; readonly group: Ids }>> = {
  discord: {
    direct: { form: /^\d+$/, example: "a person's number such as 123456789012345678" },
    group: { form: /^\d+$/, example: "a channel's or thread's number such as 123456789012345678" },
  },
  signal: {
    direct: { form: /^(?:\+\d+|uuid:[\da-f-]{36})$/i, example: "+4930123456 or uuid:…" },
    group: { form: /^[\w+/-]{8,}=*$/, example: "the group's id in Base64" },
  },
  slack: {
    direct: { form: /^(?:[DUW][A-Z\d]+|\d+\.\d+)$/i, example: "U024BE7LH, or D024BE7LH for the chat with that person" },
    group: { form: /^(?:[CG][A-Z\d]+|\d+\.\d+)$/i, example: "C024BE7LH" },
  },
  telegram: {
    direct: { form: /^\d+$/, example: "a person's number such as 123456789" },
    group: { form: /^(?:-\d+|\d{1,9})$/, example: "-1001234567890, or -1001234567890:topic:7" },
  },
  whatsapp: {
    direct: { form: /^(?:\+\d+|\d+@lid)$/, example: "+4930123456" },
    group: { form: /^\d+(?:-\d+)?@g\.us$/, example: "120363012345678901@g.us" },
  },
};

/** Fields that only the messages of one bundled channel have. */
const ONLY = [
  ["guildId", "discord"],
  ["roles", "discord"],
  ["teamId", "slack"],
] as const;

/** Bindings that no message of their channel can match, so that another agent answers. */
export function doubtfulBindings({ bindings }: Pick<Config, "bindings">): readonly RawNote[] {
  return bindings.flatMap((binding, at) =>
    isRoute(binding) ? doubtsOf(binding.match).map(([key, message]) => noteOf(at, key, message)) : [],
  );
}

const noteOf = (at: number, key: string, message: string): RawNote => ({
  path: ["bindings", at, "match", ...key.split(".")],
  message: `${message}; no message matches`,
});

type Match = Config["bindings"][number]["match"];

type Doubt = readonly [key: string, message: string];

function doubtsOf(match: Match): readonly Doubt[] {
  const ids = own(IDS, match.channel);
  if (!ids) return [];
  const foreign = ONLY.filter(([key, channel]) => match[key] !== undefined && channel !== match.channel);
  return [
    ...foreign.map(([key]): Doubt => [key, `the messages of ${match.channel} have none`]),
    ...(match.peer ? peerDoubts(match.peer, match, ids) : []),
  ];
}

function peerDoubts(
  { kind, id }: NonNullable<Match["peer"]>,
  { channel, guildId }: Match,
  ids: (typeof IDS)[string],
): readonly Doubt[] {
  const isDirect = kind === "direct" || kind === "dm";
  const inGuild: readonly Doubt[] =
    isDirect && guildId !== undefined ? [["guildId", "direct chats are in no server"]] : [];
  const [chat = "", thread] = plainPeerId(id, channel).split(/:(?:topic|thread):/i);
  const { form, example } = ids[isDirect ? "direct" : "group"];
  if (id === "*" || (form.test(chat) && thread !== "")) return inGuild;
  return [...inGuild, ["peer.id", `ids of ${isDirect ? "direct chats" : "groups"} in ${channel} are ${example}`]];
}
