import { keyNames } from "../../../sessions/shown/wire-keys.ts";
import type { DispatchPorts } from "../../../dispatch/ports.ts";
import { cronTool } from "../../../tools/cron/cron.ts";
import { gatewayTool } from "../../../tools/gateway/gateway.ts";
import { otherSessionTools, sessionTools, type OtherSessions } from "../../../tools/session/session-tools.ts";
import { ttsContribution } from "../../../tools/media/tts.ts";
import type { Speaker } from "../../../types/media/speech.ts";
import type { CronActs } from "../../../types/cron/acts.ts";
import type { GatewayActs } from "../../../types/gateway-acts.ts";
import type { ToolContribution } from "../../../types/run/tool.ts";
import { chatTools } from "./chat-acts.ts";
import { whySessionHidden } from "../../../automation/talk/visible.ts";
import { modelChange } from "../../../dispatch/commands/model.ts";
import { statusText } from "../../../dispatch/commands/kit/status.ts";
import { queueSettings } from "../../../dispatch/queue/queue-settings.ts";
import { chatOf } from "../../../sessions/chat-of.ts";
import { readPlan } from "../../../tools/session/plan.ts";
import type { Peer } from "../../../types/chat/message.ts";
import { channelId, DEFAULT_ACCOUNT, type AgentId, type SessionKey } from "../../../types/ids.ts";
import { planLines } from "../../../types/plan.ts";
import type { SessionActs } from "../../../types/session-acts.ts";
import { WEB_CHAT } from "../../contributions/extensions.ts";
import type { Live } from "../../live.ts";
import { talkRules } from "../subagents/rules.ts";

/** The tools that need more than the backends of a run. The tools call `ports` when they are used, not before. */
export const gatewayTools = (
  sources: Parameters<typeof chatTools>[0],
  ports: () => DispatchPorts,
  daemon: { gatewayActs?(ports: () => DispatchPorts): GatewayActs; cronActs?(): CronActs | undefined },
  { speaker, ...others }: OtherSessions & { readonly speaker?: Speaker | undefined },
): readonly ToolContribution[] => {
  const acts = daemon.gatewayActs?.(ports);
  return [
    ...chatTools(sources),
    ...sessionTools(sessionActs(sources.live, ports)),
    ...otherSessionTools(others),
    ...(speaker ? [ttsContribution(speaker)] : []),
    ...(acts ? [gatewayTool(acts)] : []),
    ...(daemon.cronActs ? [cronTool(daemon.cronActs)] : []),
  ];
};

/** The acts of the session tools. They call `ports` when they are used, not before. */
function sessionActs(live: Live, ports: () => DispatchPorts): SessionActs {
  const { inner: named, wire: shown } = keyNames(() => live.defaultAgent.id);
  return {
    named,
    shown,
    async keepPlan(key, plan) {
      // A plan without steps counts as no plan.
      await ports().storage.sessions.patch(key, { plan: plan.steps.length === 0 ? undefined : plan });
    },
    status: (key, { isOwner }) => status(key, isOwner, { ports: ports(), live }),
    whyHidden: (key, asker) =>
      whySessionHidden(key, asker, { sessions: ports().storage.sessions, rules: talkRules(live) }),
    async chooseModel(key, model) {
      const change = await modelChange(model, { key, ports: ports() });
      if (typeof change === "string") return change;
      const changed = await ports().storage.sessions.patch(key, change, { now: true });
      return changed ? undefined : "There is no session with this key.";
    },
    agents: (asking) => ({
      all: live.agents.map(({ id, name }) => ({ id, ...(name !== undefined && { name }) })),
      mayStart: mayStart(live, asking),
    }),
  };
}

interface Scene {
  readonly ports: DispatchPorts;
  readonly live: Live;
}

async function status(key: SessionKey, isOwner: boolean, { ports, live }: Scene): Promise<string | undefined> {
  const entry = ports.storage.sessions.peek(key);
  if (!entry) return undefined;
  // The problems of the gateway are for its owners.
  const shown = isOwner ? ports : { ...ports, prompts: { ...ports.prompts, statusLines: () => [] } };
  const { text } = await statusText({ ports: shown, key, isOwner });
  const from = chatOf(key, entry, live.defaultAgent.id) ?? WEB;
  const { mode, debounceMs, cap, drop } = queueSettings(from, entry, ports.settings());
  const plan = readPlan(entry.plan);
  return [
    `Time: ${new Date(ports.clock.now()).toISOString()}`,
    text,
    `Queue: ${mode}, debounce ${debounceMs} ms, cap ${cap}, drop ${drop}`,
    ...(plan ? ["Plan:", ...planLines(plan)] : []),
  ].join("\n");
}

/** The chat of a session that has none. */
const WEB: Peer = { channel: channelId(WEB_CHAT), account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: "operator" } };

/** The other agents that an agent may start as subagents. */
function mayStart({ config }: Live, asking: AgentId): readonly string[] {
  const own = config.agents.list.find(({ id }) => id === asking)?.subagents;
  return own?.allowAgents ?? config.agents.defaults.subagents.allowAgents ?? [];
}
