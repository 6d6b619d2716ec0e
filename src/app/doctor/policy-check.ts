import { channelAccounts } from "../../channels/config.ts";
import { sendersOf } from "../../channels/access/gating.ts";
import { hasEverybody, namesUsername } from "../../channels/access/listed.ts";
import { type ChannelPolicy, type GroupPolicy, channelPolicyOf } from "../../channels/access/policy.ts";
import { execChoice } from "../../tools/exec-mode.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Config } from "../config/schema/schema.ts";

/** Whether strangers may write to the agent, and the harm that they could then do. */
export function policyCheck(config: Config): Check {
  return {
    id: "app.policy",
    title: "Who may write",
    run: async () => {
      const accounts = accountsOf(config);
      const strangers = accounts.flatMap(strangersOf);
      const answered = strangers.length > 0 ? whatStrangersCan(config) : [NOBODY];
      return [...strangers, ...answered, ...accounts.flatMap(doubtsOf)];
    },
  };
}

const NOBODY: CheckResult = { status: "ok", message: "Strangers are not answered." };

/** One account with the settings that decide about its messages. */
interface Judged {
  readonly name: string;
  readonly channel: string;
  readonly policy: ChannelPolicy;
}

const accountsOf = ({ channels, messages }: Config): readonly Judged[] =>
  Object.entries(channels)
    .filter(([, channel]) => channel.enabled)
    .flatMap(([channel, section]) =>
      channelAccounts(section)
        .filter(({ config }) => config.enabled)
        .map(({ id, config }) => ({
          name: `${channel}/${id}`,
          channel,
          policy: channelPolicyOf(config, { mentionPatterns: [], historyLimit: messages.groupChat.historyLimit }),
        })),
    );

function strangersOf({ name, channel, policy }: Judged): CheckResult[] {
  const direct: CheckResult = {
    status: "warn",
    message: `${name}: everybody who finds the bot may write to it.`,
    fix: 'Set dmPolicy to "pairing" and take "*" out of allowFrom.',
  };
  const groups: CheckResult = {
    status: "warn",
    message: `${name}: everybody may put the bot into a group and use it there.`,
    fix: 'Set groupPolicy to "allowlist", list the groups, and take "*" out of the list.',
  };
  const isOpen = policy.direct !== "disabled" && hasEverybody(policy.allowFrom, channel);
  return [...(isOpen ? [direct] : []), ...(areGroupsOpen(policy, channel) ? [groups] : [])];
}

/** Whether the account accepts messages from unlisted groups and from everyone in them. */
function areGroupsOpen(policy: ChannelPolicy, channel: string): boolean {
  if (policy.group === "disabled") return false;
  const { "*": other, "guild:*": guild } = policy.groups;
  const listed = [other, guild].filter((group) => group !== undefined);
  const isElsewhereOpen = policy.group === "open" && other === undefined;
  return [...listed, ...(isElsewhereOpen ? [undefined] : [])].some((group) => {
    const senders = sendersOf(policy, group);
    return group?.enabled !== false && (senders ? hasEverybody(senders, channel) : group?.roles === undefined);
  });
}

function doubtsOf({ name, channel, policy }: Judged): CheckResult[] {
  const named = listsOf(policy).filter((entry) => namesUsername(entry, channel));
  const names: CheckResult = {
    status: "warn",
    message: `${name}: ${named.join(", ")} may be heard, but whoever gives a username up lets the next one have it.`,
    fix: "Use the numeric id instead; the log line of the person's next message has it.",
  };
  const nobody: CheckResult = {
    status: "warn",
    message: `${name}: dmPolicy is "open", but allowFrom has no "*": who is not in it is ignored.`,
    fix: 'Add "*" to allowFrom to hear everybody, or set dmPolicy to "allowlist" or "pairing".',
  };
  const open = openPlaces(policy, channel);
  const members: CheckResult = {
    status: "warn",
    message: `${name}: allowFrom is for direct chats alone; everybody may be heard in ${open.join(", ")}.`,
    fix: "List users or roles there, or set groupAllowFrom to those whom you mean.",
  };
  const isShut = policy.direct === "open" && !hasEverybody(policy.allowFrom, channel);
  return [...(named.length > 0 ? [names] : []), ...(open.length > 0 ? [members] : []), ...(isShut ? [nobody] : [])];
}

/** Guilds and channels without a list of people, although `allowFrom` has one, which does not apply to them. */
function openPlaces(policy: ChannelPolicy, channel: string): readonly string[] {
  const { allowFrom, group: groups } = policy;
  if (groups === "disabled" || allowFrom.length === 0 || hasEverybody(allowFrom, channel)) return [];
  const isOpen = (group: GroupPolicy): boolean =>
    group.hasMembership === true && group.enabled && !group.roles && sendersOf(policy, group) === undefined;
  return Object.entries(policy.groups).flatMap(([id, group]) => (isOpen(group) ? [id] : []));
}

function listsOf({ allowFrom, groupAllowFrom = [], groups }: ChannelPolicy): readonly string[] {
  const all = [...allowFrom, ...groupAllowFrom, ...Object.values(groups).flatMap((group) => group.allowFrom ?? [])];
  return [...new Set(all)];
}

function whatStrangersCan(config: Config): CheckResult[] {
  const unasked = unaskedExec(config);
  const runs: CheckResult = {
    status: "fail",
    message: "Those strangers can run any command on this machine without a question.",
    fix: `Take it out of the config: ${unasked.join(", ")}`,
  };
  const shares: CheckResult = {
    status: "fail",
    message: "Those strangers share one session and read each other's messages.",
    fix:
      config.session.scope === "global"
        ? "Run: openclaw config set session.scope per-sender"
        : "Run: openclaw config set session.dmScope per-channel-peer",
  };
  const isShared = config.session.scope === "global" || config.session.dmScope === "main";
  return [...(unasked.length > 0 ? [runs] : []), ...(isShared ? [shares] : [])];
}

/** The keys that let agents run commands without approval: `full` asks only when `ask` is `always`. */
function unaskedExec({ tools: { exec }, agents: { list } }: Config): readonly string[] {
  const keyIn = ({ mode }: { readonly mode?: unknown }) => `tools.exec.${mode === undefined ? "security" : "mode"}`;
  const all = list.length === 0 ? [{ key: keyIn(exec), ...execChoice(exec) }] : [];
  const each = list.map(({ id, tools }) => {
    const own = tools?.exec;
    const isOwn = own?.security !== undefined || own?.mode !== undefined;
    return { key: isOwn ? `${keyIn(own)} of the agent "${id}"` : keyIn(exec), ...execChoice(exec, own) };
  });
  const open = [...all, ...each].filter(({ security, ask }) => security === "full" && ask !== "always");
  return [...new Set(open.map(({ key }) => key))];
}
