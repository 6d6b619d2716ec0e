import { dirname, join, resolve } from "node:path";
import type { HookAct } from "../../../automation/hooks/acts.ts";
import type { HooksConfig } from "../../../automation/hooks/config.ts";
import { HookDesk } from "../../../automation/hooks/desk.ts";
import type { HookPlace } from "../../../automation/hooks/hook-message.ts";
import type { WebhookPaths } from "../../../server/options.ts";
import { buildKey, parseKey, resolveAlias } from "../../../sessions/keys.ts";
import { type AgentId, agentId, type SessionKey } from "../../../types/ids.ts";
import { chatFor } from "../cron/place.ts";
import { lastChat, mainKey, type PlaceParts } from "../methods/heartbeat-place.ts";
import type { Parts } from "../parts.ts";
import { HookPaths } from "./hook-paths.ts";

type DeskParts = Pick<Parts, "live" | "core" | "channels" | "stopping">;

/** Begins the turns that nobody in a chat has asked for. */
export function hookDesk({ live, core, channels, stopping }: DeskParts, config: () => HooksConfig): HookDesk {
  const places: PlaceParts = { live, channels, sessions: core.sessions };
  return new HookDesk({
    clock: core.ports.clock,
    journal: core.journal,
    config,
    placeOf: (act, session) => placeOfHook(act, session, places),
    receive: (messages) => core.dispatch.receive(messages),
    signal: stopping,
  });
}

/** Answers the requests of other programs, and those of platforms by `others`. */
export function openHooks(parts: DeskParts & Pick<Parts, "log">, others: WebhookPaths): WebhookPaths {
  const { live, core, log } = parts;
  const { clock } = core.ports;
  const config = () => live.config.hooks;
  const desk = hookDesk(parts, config);
  const folder = dirname(live.paths.configPath);
  const dir = () => resolve(folder, config().transformsDir ?? join("hooks", "transforms"));
  const hasAgent = (id: string) => live.agents.some((one) => one.id === id);
  return new HookPaths({ desk, clock, log, config, hasAgent, transforms: { clock, dir } }, others);
}

/** Where the turn of a request takes place and reports. A text is why it cannot. */
function placeOfHook(act: HookAct, session: string | undefined, parts: PlaceParts): HookPlace | string {
  const { live } = parts;
  const agent = agentId(act.agentId ?? live.defaultAgent.id);
  const defaultAgent = live.defaultAgent.id;
  if (act.kind === "wake") return placeOfWake(act, { session, agent }, parts);
  const key =
    session?.startsWith("agent:") === true
      ? session
      : buildKey({ kind: "other", agentId: agent, text: session ?? "hook" }, defaultAgent);
  const sessionKey = resolveAlias(key, defaultAgent);
  const why = whyNotIn(sessionKey, agent, parts);
  if (why !== undefined) return why;
  if (!act.deliver) return { sessionKey };
  const { found, problem } = chatFor(
    { channel: act.channel, to: act.to, accountId: act.accountId },
    { agent, origin: undefined },
    parts,
  );
  // Nobody may have written yet: the answer is in the transcript then. A chat that was named must be there.
  if (!found && act.to !== undefined) return problem ?? "there is no such chat";
  return { sessionKey, ...(found && { to: found.to }) };
}

function placeOfWake(
  { sessionKey }: Extract<HookAct, { kind: "wake" }>,
  { session, agent }: { readonly session: string | undefined; readonly agent: ReturnType<typeof agentId> },
  parts: PlaceParts,
): HookPlace | string {
  const defaultAgent = parts.live.defaultAgent.id;
  const named = sessionKey ?? session;
  const { found } = lastChat(agent, undefined, parts);
  if (named !== undefined) {
    const key = resolveAlias(named, defaultAgent);
    return whyNotIn(key, agent, parts) ?? { sessionKey: key, ...(found && { to: found.to }) };
  }
  return found && found.to.channel !== "webchat"
    ? { sessionKey: found.key, to: found.to }
    : { sessionKey: mainKey(agent, defaultAgent) };
}

/** Why a conversation that a request or a template names may not have the turn: its key chooses the agent, too. */
function whyNotIn(key: SessionKey, wanted: AgentId, { live }: Pick<PlaceParts, "live">): string | undefined {
  const { kind, agentId: own } = parseKey(key, live.defaultAgent.id);
  if (kind === "subagent") return "sessionKey: it is that of a subagent";
  if (own === wanted) return undefined;
  const { allowedAgentIds: ids } = live.config.hooks;
  if (ids && !ids.includes("*") && !ids.includes(own)) return "sessionKey: its agent is none of hooks.allowedAgentIds";
  return live.agents.some(({ id }) => id === own) ? undefined : "sessionKey: there is no such agent";
}
