import { homedir } from "node:os";
import { join } from "node:path";
import { activationOf } from "../../../../plugins/found/activation.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { OpenClawError, withFix } from "../../../../types/errors.ts";
import { reportSkills } from "../../../compose/skill-report.ts";
import { skillAnswers, type SkillReport } from "../../../../types/answers/skills.ts";
import { skillSources } from "../../../compose/skill-sources.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { findPlugins } from "../../../plugins/found.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import { readState, type State } from "../../state.ts";
import { shellWord } from "../../../../utils/text/shell-word.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

export interface SkillFlags {
  readonly agent?: string;
  readonly json?: boolean;
}

/** The agent that a command is about: the default one unless a flag names another. Throws `NOT_FOUND`. */
export function agentAsked(io: Io, { config, paths }: State, id: string | undefined): AgentSettings {
  const agents = resolveAgents(config, { home: io.env["HOME"] ?? homedir(), stateDir: paths.stateDir });
  const found = id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
  if (found) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent ${id}.`,
    fix: `The agents are: ${agents.map((agent) => agent.id).join(", ")}.`,
  });
}

/**
 * The skills of an agent as the running gateway sees them, whose environment may differ from this one; else as this process
 * sees them. Throws `NOT_FOUND`.
 */
export async function readSkills(io: Io, { agent: id }: SkillFlags): Promise<SkillReport> {
  const state = await readState(io);
  if (hasGateway(io, state)) {
    const asked = await ask(io, state, id);
    if (asked) return asked;
  } else if (state.problem) {
    io.err(`The config has a problem, so the default settings are shown: ${state.problem.message}\n`);
  }
  return readHere(io, state, agentAsked(io, state, id));
}

/** Undefined when the gateway does not answer, with a line about it. Throws `NOT_FOUND`. */
async function ask(io: Io, state: State, agentId: string | undefined): Promise<SkillReport | undefined> {
  const params = agentId === undefined ? {} : { agentId };
  try {
    return await callOnce(
      io,
      state,
      { method: "skills.status", params, shape: skillAnswers.status },
      { isQuiet: true },
    );
  } catch (error) {
    if (error instanceof OpenClawError && error.code === "NOT_FOUND") throw error;
    const why = error instanceof OpenClawError ? withFix(error) : `${errorText(error)}.`;
    io.err(`${withoutTerminalControls(`The gateway was not asked, so this is as this terminal sees it: ${why}`)}\n`);
    return undefined;
  }
}

async function readHere(io: Io, { config, paths }: State, agent: AgentSettings): Promise<SkillReport> {
  const { plugins } = await findPlugins(paths, io.env);
  const pluginDirs = plugins
    .filter((plugin) => activationOf(plugin, config.plugins).isOn)
    .flatMap(({ root, manifest }) => manifest.skills.map((folder) => join(root, folder)));
  return reportSkills(agent, skillSources(agent, { config, stateDir: paths.stateDir, env: io.env, pluginDirs }));
}

/** The command that tells of a skill. */
export const infoCommand = (name: string): string => `openclaw skills info ${shellWord(name)}`;
