import { OpenClawError } from "../../../../types/errors.ts";
import { modelName } from "../../../../types/run/model.ts";
import type { KeyPath } from "../../../config/problem.ts";
import { removeConfigValue } from "../../../config/edit/write.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { setInFile } from "../config/config.ts";
import { agentOf, openModelState, typedModel } from "./models-state.ts";

interface Which {
  /** The agent whose own choice is meant; the common one of all agents when unset. */
  readonly agent?: string;
}

/** Makes a model the one that is asked first. Throws USAGE, MODEL_UNKNOWN where nobody knows its provider, NOT_FOUND. */
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

/** Models that are asked in turn when the one before fails. */
export async function fallbacksList(io: Io, flags: Which & { json?: boolean; plain?: boolean }): Promise<number> {
  const state = await requireState(io);
  const { fallbacks } = agentOf(state, io, flags.agent).model;
  const names = fallbacks.map(modelName);
  if (flags.json === true) writeJson(io, { fallbacks: names });
  else io.out(names.length > 0 ? `${names.join("\n")}\n` : emptyOr(flags));
  return 0;
}

const emptyOr = (flags: { plain?: boolean }): string => (flags.plain === true ? "" : "No fallback.\n");

/** Puts a model at the end of them; none twice. */
export async function fallbacksAdd(io: Io, text: string, which: Which): Promise<number> {
  const name = modelName(typedModel(text));
  const { path, choice, fallbacks } = choiceOf(await requireState(io), io, which);
  if (fallbacks.includes(name)) {
    io.out(`${name} is one already.\n`);
    return 0;
  }
  // A plain name has no place for fallbacks: it becomes the longer form.
  const file =
    typeof choice === "string"
      ? await setInFile(io, path, { primary: choice, fallbacks: [name] })
      : await setInFile(io, [...path, "fallbacks", fallbacks.length], name);
  io.out(`${name} is asked when those before it fail, by ${file}.\n`);
  return 0;
}

/** Takes one out. Throws NOT_FOUND when it is none. */
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

/** Takes all out. */
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

/** Where the choice of a model stands in the file, and what it is now. */
function choiceOf(state: State, io: Io, { agent }: Which): Choice {
  const { defaults, list } = state.config.agents;
  const at = agent === undefined ? -1 : list.findIndex((entry) => entry.id === agent);
  if (agent !== undefined && at < 0) agentOf(state, io, agent);
  const path: KeyPath = at < 0 ? ["agents", "defaults", "model"] : ["agents", "list", at, "model"];
  const choice = at < 0 ? defaults.model : list[at]?.model;
  if (typeof choice === "string") return { path, choice, fallbacks: [] };
  return { path, choice, fallbacks: choice?.fallbacks ?? [] };
}
