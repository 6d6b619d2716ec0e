import type { Answers } from "openclaw/plugin-sdk/answers";
import { heardGroups } from "../channels/groups.ts";
import { channelName, chatApp, factLine, reachedPerson, sessionTitle, titlesApart } from "../model/format.ts";
import { keyValue } from "../config/draft.ts";
import { fields, shortNameIn } from "../model/json.ts";
import type { SessionRow } from "../model/protocol.ts";
import { t } from "../words/words.ts";

/** For whom the agent would work: the fields of `policy.explain` that say it. */
export interface Party {
  readonly id: string;
  readonly label: string;
  readonly kind: PartyKind;
  readonly ask: { readonly sessionKey?: string; readonly sender?: string; readonly name?: string };
  /** The channel of a group, of whose members one can be chosen. */
  readonly groupOn?: string;
}

export const PARTY_KINDS = ["you", "people", "groups", "conversations", "channels"] as const;
export type PartyKind = (typeof PARTY_KINDS)[number];

/** What is known of people and chats; what this client may not read is empty. */
export interface KnownPeople {
  readonly admitted: NonNullable<Answers["pairing.list"]["admitted"]>;
  readonly owners: Answers["owners.list"]["owners"];
  /** The channels that run. */
  readonly accounts: readonly Account[];
  /** The config as it is in the file. */
  readonly config: unknown;
}

type Account = Pick<NonNullable<Answers["status"]["channels"]>[number], "channel" | "accountId" | "label">;

export const NOBODY_KNOWN: KnownPeople = { admitted: [], owners: [], accounts: [], config: {} };

const YOU: Party = { id: "you", label: t("You, on this page"), kind: "you", ask: {} };

/** Everybody for whom a person can ask: at first the operator, then people, groups, conversations and channels. */
export function partiesOf(known: KnownPeople, sessions: readonly SessionRow[]): readonly Party[] {
  const all = [
    YOU,
    ...peopleOf(known),
    ...groupsOf(known, sessions),
    ...conversationsOf(sessions),
    ...channelsOf(known),
  ];
  return [...new Map(all.map((party) => [party.id, party])).values()];
}

/** The accounts that run, and those that the config names. */
function accountsOf({ accounts, config }: KnownPeople): readonly Account[] {
  const channels = fields(keyValue(config, ["channels"]));
  const named = Object.entries(channels).flatMap(([channel, settings]): readonly Account[] => {
    const own = Object.keys(fields(keyValue(settings, ["accounts"])));
    return (own.length === 0 ? ["default"] : own).map((accountId) => ({ channel, accountId }));
  });
  const all = [...named, ...accounts].filter(({ channel }) => channel !== "webchat" && channel !== "defaults");
  return [...new Map(all.map((one) => [`${one.channel}:${one.accountId}`, one])).values()];
}

/** Owners and people who were let in, each on one channel. */
function peopleOf({ admitted, owners }: KnownPeople): readonly Party[] {
  const named = admitted.map(({ channel, senderId, name }) => {
    const known = shortNameIn(name);
    return person({ channel, senderId, ...(known !== undefined && { name: known }) });
  });
  const others = owners.flatMap(({ channel, senderId }) =>
    channel === undefined ? [] : [person({ channel, senderId })],
  );
  return [...others.filter(({ id }) => named.every((one) => one.id !== id)), ...named];
}

function person(one: { readonly channel: string; readonly senderId: string; readonly name?: string }): Party {
  const { channel, senderId, name } = one;
  const sender = `${channel}:${senderId}`;
  return {
    id: sender,
    label: name === undefined ? factLine([channelName(channel), senderId]) : `${name} (${channelName(channel)})`,
    kind: "people",
    ask: { sender, ...(name !== undefined && { name }) },
  };
}

/** Groups with a conversation, and groups that the config names. */
function groupsOf(known: KnownPeople, sessions: readonly SessionRow[]): readonly Party[] {
  const written = sessions.flatMap(({ key, label }): readonly Party[] => {
    const place = reachedPerson(key);
    if (place?.to.startsWith("group:") !== true) return [];
    return [
      group({ key, label: sessionTitle(key, label), channel: place.channel, to: `${place.accountId}:${place.to}` }),
    ];
  });
  const named = accountsOf(known).flatMap(({ channel, accountId }) =>
    heardGroups(known.config, channel, accountId).named.flatMap(({ id }): readonly Party[] => {
      const key = `${channel}:${accountId}:group:${id.replaceAll("%", "%25").replaceAll(":", "%3A")}`;
      return id === "*" ? [] : [group({ key, label: sessionTitle(key), channel, to: `${accountId}:group:${id}` })];
    }),
  );
  return [...named, ...written];
}

function group(one: {
  readonly key: string;
  readonly label: string;
  readonly channel: string;
  readonly to: string;
}): Party {
  const { key, label, channel, to } = one;
  return { id: `${channel}:${to}`, label, kind: "groups", groupOn: channel, ask: { sessionKey: key } };
}

/** The operator's own conversations, whose settings count for commands. */
function conversationsOf(sessions: readonly SessionRow[]): readonly Party[] {
  const own = sessions.filter(({ key }) => chatApp(key) === undefined);
  return [...titlesApart(own)].map(([key, label]) => ({
    id: `session:${key}`,
    label,
    kind: "conversations",
    ask: { sessionKey: key },
  }));
}

/** Anybody who writes in a channel and is not known by a rule. */
const channelsOf = (known: KnownPeople): readonly Party[] =>
  accountsOf(known).map(({ channel, label }) => ({
    id: `${channel}:*`,
    label: t("Anybody else on {label}", { label: label ?? channelName(channel) }),
    kind: "channels",
    ask: { sender: `${channel}:*` },
  }));

/** Who may write in a group: anybody, and the known people of its channel. */
export const groupMembers = ({ groupOn }: Party, parties: readonly Party[]): readonly Party[] =>
  parties.filter(({ kind, ask }) => kind === "people" && ask.sender?.startsWith(`${groupOn}:`) === true);

/** The question about a party; in a group, about one of its members or anybody else. */
export function askAbout(party: Party, member: Party | undefined): Party["ask"] {
  if (party.groupOn === undefined) return party.ask;
  return { ...party.ask, ...(member ? member.ask : { sender: `${party.groupOn}:*` }) };
}
