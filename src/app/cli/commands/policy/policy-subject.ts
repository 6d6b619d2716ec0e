import { chatToolRules } from "../../../../channels/chat-tools.ts";
import { chatOf } from "../../../../sessions/chat-of.ts";
import { agentOf, isSubagentKey, resolveAlias } from "../../../../sessions/keys.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { accountId, agentId, channelId, DEFAULT_ACCOUNT, DEFAULT_AGENT, type AgentId } from "../../../../types/ids.ts";
import type { Peer } from "../../../../types/chat/message.ts";
import { parseModelName } from "../../../../types/run/model.ts";
import type { PolicySubject, SenderNames } from "../../../../types/tool-policy.ts";
import { accountKey, accountOf } from "../../../accounts/accounts.ts";
import type { Config } from "../../../config/schema.ts";

export interface PolicyFlags {
  readonly agent?: string;
  readonly session?: string;
  readonly sender?: string;
  readonly channel?: string;
  readonly model?: string;
  readonly json?: boolean;
}

/** Whose tools are explained. */
export interface Explained {
  readonly agent: AgentId;
  readonly subject: PolicySubject;
  readonly peer?: Peer;
  readonly sender?: SenderNames;
}

/** The run that the flags describe: an operator's run of the default agent when they say nothing. Throws USAGE, NOT_FOUND. */
export function explainedBy(config: Config, flags: PolicyFlags): Explained {
  const defaultAgent = defaultAgentOf(config);
  const key = flags.session === undefined ? undefined : resolveAlias(flags.session, defaultAgent);
  const ofSession = key ? agentOf(key, defaultAgent) : defaultAgent;
  const agent = flags.agent === undefined ? ofSession : agentId(flags.agent);
  requireAgent(config, agent);
  const ofKey = key && chatOf(key, undefined, defaultAgent);
  const sender = senderOf(flags, ofKey);
  const peer = ofKey ?? (sender && directChat(sender));
  const subject = {
    ...senderFacts(config, sender, peer),
    depth: key && isSubagentKey(key) ? 1 : 0,
    ...modelIn(flags),
  };
  return { agent, subject, ...(peer && { peer }), ...(sender && { sender }) };
}

const senderFacts = (config: Config, sender: SenderNames | undefined, peer: Peer | undefined) => ({
  hasOwnerRights: sender === undefined || isOwner(sender, config),
  senders: sender ? [sender] : [],
  ...(peer && { chatRules: rulesOf(config, peer, sender) }),
});

function defaultAgentOf({ agents: { list } }: Config): AgentId {
  const entry = list.find((one) => one.default === true) ?? list[0];
  return entry ? agentId(entry.id) : DEFAULT_AGENT;
}

function requireAgent({ agents: { list } }: Config, agent: AgentId): void {
  const ids = list.length === 0 ? [DEFAULT_AGENT] : list.map(({ id }) => agentId(id));
  if (ids.includes(agent)) return;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent "${agent}".`,
    fix: `Name one of: ${ids.join(", ")}.`,
  });
}

/** `telegram:42`, or an id with the channel from elsewhere. */
function senderOf({ sender, channel }: PolicyFlags, peer: Peer | undefined): SenderNames | undefined {
  if (sender === undefined) return undefined;
  const [, prefix, id] = /^([a-z][a-z0-9-]*):(.+)$/.exec(sender) ?? [];
  const on = channel ?? prefix ?? peer?.channel;
  if (on === undefined)
    throw new OpenClawError("USAGE", {
      message: `"${sender}" is a sender of no channel.`,
      fix: "Write it as telegram:42, or add --channel.",
    });
  const plain = id ?? sender;
  return { channel: on, id: plain, ...(plain.startsWith("+") && { e164: plain }) };
}

const directChat = ({ channel, id }: SenderNames): Peer => ({
  channel: channelId(channel),
  account: accountId(DEFAULT_ACCOUNT),
  chat: { kind: "direct", id },
});

function isOwner({ channel, id }: SenderNames, { commands }: Config): boolean {
  const owners = commands.ownerAllowFrom.map(String);
  return owners.includes(id) || owners.includes(`${channel}:${id}`);
}

const rulesOf = (config: Config, peer: Peer, sender: SenderNames | undefined) =>
  chatToolRules(accountOf(config, peer), accountKey(config, peer), {
    from: peer,
    sender: sender ? { id: sender.id, ...(sender.e164 !== undefined && { e164: sender.e164 }) } : { id: peer.chat.id },
  });

function modelIn({ model: text }: PolicyFlags) {
  if (text === undefined) return {};
  const model = parseModelName(text);
  if (model) return { model };
  throw new OpenClawError("USAGE", { message: `"${text}" is no model.`, fix: "Write it as provider/model." });
}
