import { chatToolRules } from "../../../channels/chat-tools.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import {
  agentOf,
  buildKey,
  isMainKey,
  isSubagentKey,
  OPERATOR_KEY,
  parseKey,
  resolveAlias,
  wireKey,
} from "../../../sessions/keys.ts";
import { undecidedRules } from "../../../tools/policy/senders.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { accountId, agentId, channelId, DEFAULT_ACCOUNT, type SessionKey } from "../../../types/ids.ts";
import type { InboundMessage, Peer } from "../../../types/chat/message.ts";
import { parseModelName } from "../../../types/run/model.ts";
import { OPERATOR, type Principal } from "../../../types/run/principal.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import type { PolicySubject, SenderNames } from "../../../types/tool-policy.ts";
import { accountKey, accountOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema/schema.ts";
import type { Live } from "../../live.ts";
import { createRules } from "../rules.ts";
import { confinedIn, type Confined, type Machine } from "../sandbox/sandboxing.ts";

/** The run whose tools somebody asks about; with nothing set, an operator's run of the default agent. */
export interface PolicyAsk {
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly sender?: string | undefined;
  readonly channel?: string | undefined;
  readonly username?: string | undefined;
  readonly name?: string | undefined;
  readonly model?: string | undefined;
}

/** The run whose tools are explained. */
export interface Explained {
  readonly agent: AgentSettings;
  readonly sessionKey: SessionKey;
  /** Who acts in the run. */
  readonly principal: Principal;
  readonly subject: PolicySubject;
  readonly confined: Confined;
  readonly peer?: Peer;
  readonly sender?: SenderNames;
  /** Keys of entries that may match the sender by a name that was not given. */
  readonly leftOut: readonly string[];
}

/** The run that somebody asks about. Throws USAGE, NOT_FOUND. */
export function explainedBy(live: Live, machine: Machine, ask: PolicyAsk): Explained {
  const { sessionKey, peer, sender } = whereOf(live, ask);
  const agent = agentFor(live, ask.agent ?? agentOf(sessionKey, live.defaultAgent.id));
  const facts = senderFacts(live.config, sender, peer);
  const principal = principalOf(facts.hasOwnerRights, sender);
  const confined = confinedIn(agent, { principal, sessionKey }, machine);
  const depth = isSubagentKey(sessionKey) ? 1 : 0;
  const subject = { ...facts, depth, ...(confined.files && { isSandboxed: true }), ...modelIn(ask) };
  const leftOut = sender ? undecided(agent, subject, sender) : [];
  return { agent, sessionKey, principal, subject, confined, leftOut, ...(peer && { peer }), ...(sender && { sender }) };
}

type Where = Pick<Explained, "sessionKey" | "peer" | "sender">;

/** The conversation, its chat and its sender. */
function whereOf(live: Live, ask: PolicyAsk): Where {
  const { id: defaultAgent } = live.defaultAgent;
  const asked = ask.session === undefined ? undefined : ofAgent(resolveAlias(ask.session, defaultAgent), ask, live);
  const ofKey = asked && chatOf(asked, undefined, defaultAgent);
  const sender = senderOf(ask, ofKey);
  if (!sender) return { sessionKey: asked ?? OPERATOR_KEY, ...(ofKey && { peer: ofKey }) };
  const peer = ofKey ?? directChat(sender);
  return { sessionKey: asked ?? keyOf(live, peer, sender), peer, sender };
}

/** The conversation with the agent that is asked about: a chat can be that of another one. Throws USAGE where it cannot. */
function ofAgent(key: SessionKey, { agent: asked }: PolicyAsk, { defaultAgent: { id } }: Live): SessionKey {
  const parsed = parseKey(key, id);
  const agent = asked === undefined ? parsed.agentId : agentId(asked);
  if (parsed.agentId === agent) return key;
  if (isMainKey(key)) return buildKey({ kind: "main", agentId: agent }, id);
  if (parsed.kind === "direct" || parsed.kind === "group" || parsed.kind === "peer")
    return buildKey({ ...parsed, agentId: agent }, id);
  throw new OpenClawError("USAGE", {
    message: `${wireKey(key, id)} is a conversation of the agent "${parsed.agentId}", and of no other.`,
    fix: `Leave the agent out, or name a conversation of "${agent}".`,
  });
}

const principalOf = (isOwner: boolean, sender: SenderNames | undefined): Principal =>
  isOwner || !sender ? OPERATOR : { kind: "sender", id: `${sender.channel}:${sender.id}` };

const senderFacts = (config: Config, sender: SenderNames | undefined, peer: Peer | undefined) => ({
  hasOwnerRights: sender === undefined || isOwner(sender, config),
  senders: sender ? [sender] : [],
  ...(peer && { chatRules: rulesOf(config, peer, sender) }),
});

/**
 * Keys of `toolsBySender` that name people by username, display name or phone number, when only the sender's id was
 * given.
 */
function undecided({ tools: { global, agent } }: AgentSettings, subject: PolicySubject, sender: SenderNames) {
  const sections = [global, ...(agent ? [agent] : []), ...(subject.chatRules ?? [])];
  return sections.flatMap(({ key, toolsBySender = {} }) =>
    undecidedRules(toolsBySender, sender).map((name) => `${key}.toolsBySender[${JSON.stringify(name)}]`),
  );
}

function agentFor({ agents }: Live, id: string): AgentSettings {
  const found = agents.find((agent) => agent.id === agentId(id));
  if (found) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent "${id}".`,
    fix: `Name one of: ${agents.map((agent) => agent.id).join(", ")}.`,
  });
}

/** The sender by `telegram:42`, or by an id with the channel from elsewhere. Throws USAGE when there is no channel. */
function senderOf({ sender, channel, username, name }: PolicyAsk, peer: Peer | undefined): SenderNames | undefined {
  if (sender === undefined) return undefined;
  const [, prefix, id] = /^([a-z][a-z0-9-]*):(.+)$/.exec(sender) ?? [];
  const on = channel ?? prefix ?? peer?.channel;
  if (on === undefined)
    throw new OpenClawError("USAGE", {
      message: `"${sender}" is a sender of no channel.`,
      fix: "Write it as telegram:42, or add --channel.",
    });
  const plain = id ?? sender;
  return {
    channel: on,
    id: plain,
    ...(plain.startsWith("+") && { e164: plain }),
    ...(username !== undefined && { username }),
    ...(name !== undefined && { name }),
  };
}

const directChat = ({ channel, id }: SenderNames): Peer => ({
  channel: channelId(channel),
  account: accountId(DEFAULT_ACCOUNT),
  chat: { kind: "direct", id },
});

/** The session that a message of the sender would be in. */
function keyOf(live: Live, from: Peer, { id }: SenderNames): SessionKey {
  const message: InboundMessage = {
    eventKey: "",
    id: "",
    from,
    sender: { id },
    text: "",
    media: [],
    mentionsBot: true,
    receivedAt: 0,
  };
  return createRules(live)().keyFor(message);
}

function isOwner({ channel, id }: SenderNames, { commands }: Config): boolean {
  const owners = commands.ownerAllowFrom.map(String);
  return owners.includes(id) || owners.includes(`${channel}:${id}`);
}

const rulesOf = (config: Config, peer: Peer, sender: SenderNames | undefined) =>
  chatToolRules(accountOf(config, peer), accountKey(config, peer), {
    from: peer,
    sender: sender ? { id: sender.id, ...(sender.e164 !== undefined && { e164: sender.e164 }) } : { id: peer.chat.id },
  });

function modelIn({ model: text }: PolicyAsk) {
  if (text === undefined) return {};
  const model = parseModelName(text);
  if (model) return { model };
  throw new OpenClawError("USAGE", { message: `"${text}" is no model.`, fix: "Write it as provider/model." });
}
