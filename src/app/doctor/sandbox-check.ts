import { homedir } from "node:os";
import { join } from "node:path";
import type { Contributions } from "../../plugins/contributions.ts";
import { mcpCheck } from "../../mcp/checks.ts";
import { SandboxMachine } from "../../tools/sandbox/machine.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { probeSandboxes, unsandboxed, type Unsandboxed } from "../compose/sandbox/sandboxing.ts";
import { agentOf } from "../../sessions/keys.ts";
import { readRows } from "../../sessions/rows/read-rows.ts";
import { DEFAULT_AGENT, type AgentId, type SessionKey } from "../../types/ids.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";
import { resolveAgents } from "../config/settings.ts";
import { memoryCheck } from "./agents/memory-check.ts";
import { loadSkills } from "../../prompt/skills/skills.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { contextFilesOf } from "../compose/prompting.ts";
import { skillSources } from "../compose/skill-sources.ts";
import type { Env } from "../../utils/env.ts";
import { hasWorkspace } from "../../prompt/bootstrap.ts";
import { OpenClawError } from "../../types/errors.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

interface Place {
  readonly config: Config;
  readonly paths: StatePaths;
  readonly env: NodeJS.ProcessEnv;
  readonly contributions: Contributions;
}

/** The checks of the agents' surroundings on this machine: their prompt, sandbox, workspace and notes. */
export const agentChecks = (place: Place): readonly Check[] => [
  workspacesCheck(agentsOf(place), () => workedIn(place.paths)),
  promptCheck(place),
  sandboxCheck(place),
  mcpCheck(place.config.mcp, place.env),
  memoryCheck(place),
];

/** The agents that have conversations. None when their rows cannot be read, which another check reports. */
async function workedIn(paths: StatePaths): Promise<ReadonlySet<AgentId>> {
  const places = { dir: paths.sessionsDir, journal: journalPath(paths) };
  const rows = await readRows(places, DEFAULT_AGENT).catch(() => new Map<SessionKey, never>());
  return new Set([...rows.keys()].map((key) => agentOf(key)));
}

const agentsOf = ({ config, paths, env }: Omit<Place, "contributions">) =>
  resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });

/** Whether the sandboxes that the config names work on this machine, by starting a program in each. */
function sandboxCheck({ config, paths, env, contributions }: Place): Check {
  return {
    id: "app.sandbox",
    title: "Sandbox",
    timeoutMs: 12_000,
    run: async () => {
      const agents = agentsOf({ config, paths, env });
      const machine = new SandboxMachine({ env, dir: paths.stateSub, contributions });
      await probeSandboxes(agents, machine);
      const found = unsandboxed(agents, machine).map(tellOf);
      if (found.length > 0) return found;
      const isUsed = agents.some(({ sandbox, exec }) => sandbox?.mode !== "off" || exec.host === "sandbox");
      return isUsed
        ? [{ status: "ok", message: "It works." }]
        : [{ status: "skip", message: "The config switches it off." }];
    },
  };
}

const tellOf = ({ agent, isDemanded, probe: { why, fix } }: Unsandboxed): CheckResult =>
  isDemanded
    ? { status: "fail", message: `The agent "${agent}" refuses commands, for its sandbox does not work: ${why}.`, fix }
    : {
        status: "skip",
        message: `The agent "${agent}" has none, so commands of guests and groups run on the machine, with approvals: ${why}.`,
        fix,
      };

interface Places {
  readonly config: Config;
  readonly paths: StatePaths;
  readonly env: Env;
}

/** Whether all workspace files and skills reach the model. */
function promptCheck(places: Places): Check {
  return {
    id: "app.prompt",
    title: "Workspace and skills",
    run: async () => {
      const { config, paths, env } = places;
      const agents = resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });
      const cut = await Promise.all(agents.map((agent) => cutFiles(agent)));
      const skills = await Promise.all(agents.map((agent) => leftSkills(agent, places)));
      const results = [...new Map([...cut, ...skills].flat().map((one) => [one.message, one])).values()];
      return results.length > 0 ? results : [{ status: "ok", message: "All of it reaches the model." }];
    },
  };
}

async function cutFiles(agent: AgentSettings): Promise<readonly CheckResult[]> {
  const files = await contextFilesOf(agent);
  return files.flatMap(({ path, content, wholeChars }) => {
    if (wholeChars === undefined) return [];
    const message = `${join(agent.workspace, path)}: about ${content.length} of its ${wholeChars} characters reach the model.`;
    const fix = "Shorten the file, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.";
    return [{ status: "warn", message, fix }];
  });
}

async function leftSkills(agent: AgentSettings, { config, paths, env }: Places): Promise<readonly CheckResult[]> {
  const left: CheckResult[] = [];
  await loadSkills(skillSources(agent, { config, stateDir: paths.stateDir, env }), ({ location, reason }) => {
    const fix = "Give the skill what it needs, or hide it: openclaw config set skills.entries.<name>.enabled false";
    left.push({ status: "warn", message: `${location} is not offered to the model: ${reason}.`, fix });
  });
  return left;
}

/**
 * Whether each agent can work in its directory, and in one of its own: agents that share a directory read and write
 * each other's files and notes. `worked` gives the agents that have conversations already.
 */
const workspacesCheck = (agents: readonly AgentSettings[], worked: () => Promise<ReadonlySet<AgentId>>): Check => ({
  id: "app.workspaces",
  title: "Workspaces",
  run: async () => {
    const bad = (await Promise.all(agents.map((agent) => ofOne(agent, worked)))).flat();
    if (bad.length > 0) return bad;
    const places = await Promise.all(agents.map(async ({ id, workspace }) => ({ id, real: await realOf(workspace) })));
    const found = places.flatMap((one, at) =>
      places.slice(0, at).flatMap((other): CheckResult[] => {
        if (one.real === other.real) return [shared(one.id, other.id, one.real)];
        if (isInside(one.real, other.real)) return [nested(one.id, other.id)];
        return isInside(other.real, one.real) ? [nested(other.id, one.id)] : [];
      }),
    );
    return found.length > 0 ? found : [{ status: "ok", message: `${agents.length}, each of one agent.` }];
  },
});

async function ofOne(
  { id, workspace }: AgentSettings,
  worked: () => Promise<ReadonlySet<AgentId>>,
): Promise<readonly CheckResult[]> {
  try {
    if ((await hasWorkspace(workspace)) || !(await worked()).has(id)) return [];
    return [gone(id, workspace)];
  } catch (error) {
    if (!(error instanceof OpenClawError) || error.code !== "WORKSPACE_UNUSABLE") throw error;
    return [{ status: "fail", message: `${error.message}. The gateway does not start.`, fix: error.fix }];
  }
}

const gone = (agent: string, path: string): CheckResult => ({
  status: "warn",
  message: `The workspace ${path} of "${agent}" is missing: the next start makes one without its files, notes and skills.`,
  fix: "Restore it from a backup, or say in agents.defaults.workspace or agents.list[].workspace where it is now.",
});

const FIX = "Give each a workspace of its own in agents.list[].workspace.";

const shared = (one: string, other: string, path: string): CheckResult => ({
  status: "fail",
  message: `The agents "${other}" and "${one}" share the workspace ${path}: each has the other's files and notes.`,
  fix: FIX,
});

const nested = (inner: string, outer: string): CheckResult => ({
  status: "warn",
  message: `The workspace of "${inner}" lies in that of "${outer}", which reads and writes it.`,
  fix: FIX,
});
