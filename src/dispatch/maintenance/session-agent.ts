import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { verboseLevelOf } from "../../types/run/verbose.ts";
import type { DispatchPorts } from "../ports.ts";

type Ports = Pick<DispatchPorts, "settings">;

/** The agent of a session, or the default one when the config no longer has it. */
export function agentOf(session: Pick<Session, "agentId">, ports: Ports): AgentSettings {
  const settings = ports.settings();
  const agent = settings.agents.get(session.agentId) ?? settings.agents.get(settings.defaultAgent);
  if (!agent) throw new Error(`no agent ${session.agentId}`);
  return agent;
}

/** Whether people are told that their conversation was summarised: where the config says so, and where they see tool calls. */
export function showsCompaction(session: Pick<Session, "agentId" | "entry">, ports: Ports): boolean {
  const { compaction, verbose = "off" } = agentOf(session, ports);
  const level = verboseLevelOf(session.entry.verboseLevel) ?? verbose;
  return compaction?.notifyUser === true || level !== "off";
}
