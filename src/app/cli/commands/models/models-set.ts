import { OpenClawError } from "../../../../types/errors.ts";
import { modelName } from "../../../../types/run/model.ts";
import { pathOfAgent } from "../../../config/keys/agent-key.ts";
import type { KeyPath } from "../../../config/schema/problem.ts";
import { removeConfigValue } from "../../../config/edit/write.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { setInFile } from "../config/config.ts";
import { chosenAgent, openModelState, typedModel } from "./models-state.ts";

interface Which {
  /** The agent whose model is set; the model for all agents when unset. */
  readonly agent?: string;
}

/** Sets the model that is asked first. Throws USAGE, MODEL_UNKNOWN for an unknown provider, NOT_FOUND. */
export async function modelsSet(io: Io, text: string, which: Which): Promise<number> {
  const ref = typedModel(text);
  const { state, models } = await openModelState(io);
  const found = await models.find(ref);
  if ("missing" in found && found.because === "model_missing") {
    throw new OpenClawError("MODEL_UNKNOWN", {
      message: found.missing,
      fix: "Name one of `openclaw models list --all`, or describe the provider below models.providers.",
    });
  }
  const { path, choice } = choiceOf(state, io, which);
  const isPlain = typeof choice === "string";
  const file = await setInFile(io, isPlain ? path : [...path, "primary"], modelName(ref));
  io.out(`${modelName(ref)} is asked first now, by ${file}.\n`);
  if ("missing" in found) io.err(`It cannot be called yet: ${found.missing}\n`);
  return 0;
}

/** Lists the models that are asked in order when the one before fails. */
export async function fallbacksList(io: Io, flags: Which & { json?: boolean; plain?: boolean }): Promise<number> {
  const state = await requireState(io);
  const { fallbacks } = chosenAgent(state, io, flags.agent).model;
  const names = fallbacks.map(modelName);
  if (flags.json === true) writeJson(io, { fallbacks: names });
  else io.out(names.length > 0 ? `${names.join("\n")}\n` : emptyOr(flags));
  return 0;
}

const emptyOr = (flags: { plain?: boolean }): string => (flags.plain === true ? "" : "No fallback.\n");

/** Adds a model at the end of the fallbacks unless it is one already. */
export async function fallbacksAdd(io: Io, text: string, which: Which): Promise<number> {
  const name = modelName(typedModel(text));
  const { path, choice, fallbacks } = choiceOf(await requireState(io), io, which);
  if (fallbacks.includes(name)) {
    io.out(`${name} is one already.\n`);
    return 0;
  }
  // A model as text cannot have fallbacks, so it becomes an object.
  const file =
    typeof choice === "string"
      ? await setInFile(io, path, { primary: choice, fallbacks: [name] })
      : await setInFile(io, [...path, "fallbacks", fallbacks.length], name);
  io.out(`${name} is asked when those before it fail, by ${file}.\n`);
  return 0;
}

/** Removes a fallback. Throws NOT_FOUND when it is none. */
export async function fallbacksRemove(io: Io, text: string, which: Which): Promise<number> {
  const name = modelName(typedModel(text));
  const state = await requireState(io);
  const { path, fallbacks } = choiceOf(state, io, which);
  const at = fallbacks.indexOf(name);
  if (at < 0) {
    throw new OpenClawError("NOT_FOUND", {
      message: `${name} is no fallback.`,
      fix: fallbacks.length === 0 ? "There is none." : `Those that are: ${fallbacks.join(", ")}.`,
    });
  }
  await removeConfigValue(state.load, [...path, "fallbacks", at]);
  io.out(`${name} is no fallback any more.\n`);
  return 0;
}

/** Removes all fallbacks. */
export async function fallbacksClear(io: Io, which: Which): Promise<number> {
  const state = await requireState(io);
  const { path, choice } = choiceOf(state, io, which);
  if (typeof choice === "object") await removeConfigValue(state.load, [...path, "fallbacks"]);
  io.out("No fallback any more.\n");
  return 0;
}

interface Choice {
  readonly path: KeyPath;
  readonly choice: State["config"]["agents"]["defaults"]["model"];
  readonly fallbacks: readonly string[];
}

/** The path of the model setting in the file, and its current value. */
function choiceOf(state: State, io: Io, { agent }: Which): Choice {
  const { agents } = state.config;
  const entry = agent === undefined ? undefined : agents.list.find(({ id }) => id === agent);
  if (agent !== undefined && !entry) chosenAgent(state, io, agent);
  const path: KeyPath = entry ? [...pathOfAgent(agents, entry.id), "model"] : ["agents", "defaults", "model"];
  const choice = entry ? entry.model : agents.defaults.model;
  if (typeof choice === "string") return { path, choice, fallbacks: [] };
  return { path, choice, fallbacks: choice?.fallbacks ?? [] };
}
