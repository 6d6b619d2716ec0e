import { join } from "node:path";
import { ExecApprovalsFile } from "../../../store/exec-approvals.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import type { SessionKey } from "../../../types/ids.ts";
import {
  EXEC_ASK,
  EXEC_HOSTS,
  EXEC_SECURITY,
  sessionExecOf,
  stricterOf,
  type SessionExec,
} from "../../../types/run/exec-wish.ts";
import { OPERATOR } from "../../../types/run/principal.ts";
import type { ExecRights, SessionEntry, SessionRights, Sourced } from "../../../types/session.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { explainPolicy, placesIn, type PlacedVerdict } from "../../compose/policy/explain.ts";
import { whyOutside } from "../../compose/sandbox/sandboxing.ts";
import { pathOfAgent } from "../../config/keys/agent-key.ts";
import { showPath } from "../../config/schema/problem.ts";
import type { Live } from "../../live.ts";
import type { Parts } from "./parts.ts";

type RightsParts = Pick<Parts, "core" | "live">;

/** The rights of a turn that an operator writes in a session, each with the key that says so. Empty for a session of no agent. */
export async function rightsOf(key: SessionKey, parts: RightsParts): Promise<SessionRights> {
  const { core, live } = parts;
  const { agents, agentOf } = core.ports.settings();
  if (!agents.has(agentOf(key))) return {};
  const { of, verdicts } = await explainPolicy(live, core.sandboxes.machine, { session: key });
  const wish = wishOf(core.sessions.peek(key));
  const agent = withWish(of.agent, wish);
  return {
    sandbox: sandboxOf(agent, key, parts),
    exec: await execOf(of.agent, wish, live),
    tools: verdicts.map(toolOf),
  };
}

/** Settings of a session for its commands; undefined is a session that is not there yet. */
export const wishOf = (entry: Readonly<SessionEntry> | undefined): SessionExec => {
  const { execHost: host, execSecurity: security, execAsk: ask } = entry ?? {};
  return sessionExecOf({ host, security, ask });
};

/** The agent with the session's own host, which may confine its commands. */
const withWish = (agent: AgentSettings, { host }: SessionExec): AgentSettings => ({
  ...agent,
  exec: { ...agent.exec, host: stricterOf(EXEC_HOSTS, agent.exec.host ?? "auto", host) },
});

function sandboxOf(agent: AgentSettings, sessionKey: SessionKey, { core }: RightsParts) {
  const { sandbox } = agent;
  if (!sandbox) return { commands: false, mode: "off" };
  const { mode, backend, scope, workspaceAccess } = sandbox;
  const probe = core.sandboxes.machine.known(sandbox);
  const why = whyOutside(agent, { principal: OPERATOR, sessionKey }, core.sandboxes.machine);
  return {
    commands: why === undefined,
    ...(why !== undefined && { why }),
    mode,
    backend: probe?.ok === true ? probe.facts.backend : backend,
    ...(probe && { works: probe.ok }),
    scope,
    workspaceAccess,
  };
}

/** Host, security and ask of the session's commands: the strictest of config, session and approvals document. */
export async function execOf(agent: AgentSettings, wish: SessionExec, live: Live): Promise<ExecRights> {
  const limits = new ExecApprovalsFile(join(live.paths.stateDir, EXEC_APPROVALS_FILE)).policy(agent.id);
  const { exec } = agent;
  const keys = keysOf(agent, live);
  const places = await placesIn(
    live.loaded.path,
    Object.values(keys).flatMap((one) => one ?? []),
  );
  const base = (value: string, from: string | undefined): Sourced => {
    const place = from === undefined ? undefined : places.get(from);
    return { value, ...(from !== undefined && { key: from }), ...(place !== undefined && { place }) };
  };
  const row = (name: string) => `${name} of the session`;
  return {
    host: narrowedTo(base(exec.host ?? "auto", keys.host), EXEC_HOSTS, [[wish.host, row("execHost")]]),
    security: narrowedTo(base(exec.security, keys.security), EXEC_SECURITY, [
      [wish.security, row("execSecurity")],
      [limits.security, EXEC_APPROVALS_FILE],
    ]),
    ask: narrowedTo(base(exec.ask, keys.ask), EXEC_ASK, [
      [wish.ask, row("execAsk")],
      [limits.ask, EXEC_APPROVALS_FILE],
    ]),
  };
}

/** The strictest value, with what says it first. */
function narrowedTo(
  base: Sourced,
  order: readonly string[],
  more: readonly (readonly [value: string | undefined, key: string])[],
): Sourced {
  let found = base;
  for (const [value, key] of more)
    if (value !== undefined && stricterOf(order, found.value, value) !== found.value) found = { value, key };
  return found;
}

/** The keys of the config that say the values; undefined for defaults. */
function keysOf({ id }: AgentSettings, { config }: Live) {
  const own = config.agents.list.find((entry) => entry.id === id)?.tools?.exec;
  const all = config.tools.exec;
  const ownKey = (name: string) => showPath([...pathOfAgent(config.agents, id), "tools", "exec", name]);
  const choice = (name: "security" | "ask"): string | undefined => {
    if (own?.mode !== undefined) return ownKey("mode");
    if (own?.[name] !== undefined) return ownKey(name);
    if (all.mode !== undefined) return "tools.exec.mode";
    return all[name] === undefined ? undefined : `tools.exec.${name}`;
  };
  const ofAll = all.host === "auto" ? undefined : "tools.exec.host";
  return { host: own?.host === undefined ? ofAll : ownKey("host"), security: choice("security"), ask: choice("ask") };
}

/** The step that removes a tool, or the last one that names it. */
function toolOf({ tool, isAllowed, trace }: PlacedVerdict) {
  const said =
    trace.find(({ answer }) => answer !== "allowed") ??
    trace.findLast(({ entry, answer }) => answer === "allowed" && entry !== undefined);
  return {
    tool,
    allowed: isAllowed,
    ...(said && { stage: said.stage, key: said.key, ...(said.place !== undefined && { place: said.place }) }),
  };
}
