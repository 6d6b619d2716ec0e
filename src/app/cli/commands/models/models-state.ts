import { join } from "node:path";
import { Credentials } from "../../../../providers/auth/credentials.ts";
import { readCooldowns } from "../../../../providers/auth/cooldowns-file.ts";
import { Cooldowns } from "../../../../providers/auth/cooldowns.ts";
import { createModels, type Models } from "../../../../providers/catalog.ts";
import { systemClock } from "../../../../types/clock.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { ModelRef } from "../../../../types/run/model.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { applyEnv } from "../../../config/env-vars.ts";
import { readModelRef, resolveAgents } from "../../../config/settings.ts";
import type { Io } from "../../io.ts";
import { loadModelProviders } from "../../plugin-command.ts";
import { requireState, type State } from "../../state.ts";

/** Models and keys as a command sees them, in this process. */
export interface ModelState {
  readonly state: State;
  readonly env: NodeJS.ProcessEnv;
  readonly credentials: Credentials;
  /** The cooldowns that the gateway wrote last; this process does not write its changes. */
  readonly cooldowns: Cooldowns;
  readonly models: Models;
}

/** Throws the config's problem. */
export async function openModelState(io: Io): Promise<ModelState> {
  const state = await requireState(io);
  const { config, paths } = state;
  const env = { ...io.env };
  applyEnv(config, env);
  const credentials = new Credentials(paths.credentials);
  const cooldowns = new Cooldowns(systemClock, await readCooldowns(join(paths.stateSub, "auth-rests.json")));
  await loadModelProviders(io);
  const options = { ...config.models, env, auth: config.auth, credentials, cooldowns };
  const models = createModels(options, { contributed: io.contributions.modelProviders });
  return { state, env, credentials, cooldowns, models };
}

/** The agent of that id, or the default one. Throws NOT_FOUND. */
export function agentOf({ config, paths }: State, io: Io, id: string | undefined): AgentSettings {
  const agents = resolveAgents(config, { home: io.env["HOME"] ?? "", stateDir: paths.stateDir });
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
