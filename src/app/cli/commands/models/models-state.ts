import { Credentials, NO_KEYS, type StoredKeys } from "../../../../providers/auth/credentials.ts";
import { ownCredentialsOf } from "../../../../providers/auth/own-credentials.ts";
import { readCooldowns } from "../../../../providers/auth/cooldowns-file.ts";
import { Cooldowns } from "../../../../providers/auth/cooldowns.ts";
import { createModels, type Models } from "../../../../providers/catalog.ts";
import { systemClock } from "../../../../types/clock.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { ModelRef } from "../../../../types/run/model.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { applyEnv } from "../../../config/env-vars.ts";
import { cooldownsPath } from "../../../config/paths.ts";
import { readModelRef, resolveAgents } from "../../../config/settings.ts";
import type { Io } from "../../io.ts";
import { loadModelProviders } from "../../plugin-command.ts";
import { requireState, type State } from "../../state.ts";

/** Models and keys as a command sees them, in this process. */
export interface ModelState {
  readonly state: State;
  readonly env: NodeJS.ProcessEnv;
  /** The keys of all agents, or those that only the given agent uses. */
  readonly credentials: Credentials;
  /** The cooldowns that the gateway wrote last; this process does not write its changes. */
  readonly cooldowns: Cooldowns;
  readonly models: Models;
}

/** With the id of an agent: its models, and the keys that only it uses. Throws the config's problem, and NOT_FOUND. */
export async function openModelState(io: Io, agent?: string): Promise<ModelState> {
  const state = await requireState(io);
  const { config, paths } = state;
  const env = { ...io.env };
  applyEnv(config, env);
  const shared = new Credentials(paths.credentials);
  const ownCredentials = ownCredentialsOf(agentsOf(state, io));
  const own = agent === undefined ? undefined : ownCredentials(chosenAgent(state, io, agent).id);
  const cooldowns = new Cooldowns(systemClock, await readCooldowns(cooldownsPath(paths)));
  await loadModelProviders(io);
  const options = { ...config.models, env, auth: config.auth, credentials: shared, ownCredentials, cooldowns };
  const models = createModels(options, { contributed: io.contributions.modelProviders });
  const found = { state, env, credentials: own ?? shared, cooldowns };
  return { ...found, models: agent === undefined ? models : models.of(agent) };
}

/** The stored keys that an agent can use: those that only it uses, and those of all agents. Throws MODEL_KEY_MISSING. */
export async function keysFor({ credentials, state }: Pick<ModelState, "credentials" | "state">): Promise<StoredKeys> {
  const [shared, own] = [new Credentials(state.paths.credentials), credentials];
  const behind = shared.path === own.path ? NO_KEYS : await shared.read();
  const { profiles, order, odd } = await own.read();
  return {
    profiles: new Map([...behind.profiles, ...profiles]),
    order: { ...behind.order, ...order },
    odd: [...behind.odd, ...odd],
  };
}

const agentsOf = ({ config, paths }: State, { env }: Io): readonly AgentSettings[] =>
  resolveAgents(config, { home: env["HOME"] ?? "", stateDir: paths.stateDir });

/** The agent of that id, or the default one. Throws NOT_FOUND. */
export function chosenAgent(state: State, io: Io, id: string | undefined): AgentSettings {
  const agents = agentsOf(state, io);
  const found = id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
  if (found) return found;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent "${id}".`,
    fix: `Those of the config: ${agents.map((agent) => agent.id).join(", ")}.`,
  });
}

/** `provider/model` as typed. Throws USAGE. */
export function typedModel(text: string): ModelRef {
  if (/^[^/\s]+\/\S+$/.test(text)) return readModelRef(text);
  throw new OpenClawError("USAGE", {
    message: `"${text}" is no model.`,
    fix: "Write it as provider/model; `openclaw models list` shows those that can be used.",
  });
}
