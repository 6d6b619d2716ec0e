import { OpenClawError } from "../../../../types/errors.ts";
import { testModel, type ConnectScene, type ModelWish } from "../../../onboard/connect-model.ts";
import type { SetupRefusal } from "../../../onboard/refusals.ts";
import { saveModel } from "../../../onboard/save-model.ts";
import type { Edit } from "../../../agents/agent-file.ts";
import { applyEnv } from "../../../config/env-vars.ts";
import { loadModelProviders } from "../../plugin-command.ts";
import { withProgress } from "../../progress.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { setupAgents, type SetupScene } from "./scene.ts";

/** A model that has answered and is not saved. */
export interface TriedModel {
  /** `provider/model`. */
  readonly name: string;
  readonly latencyMs: number;
  /** Stores its key and makes it the first model, with the edits in the same write; all or nothing. */
  save(scene: SetupScene, edits?: readonly Edit[]): Promise<void>;
}

/** Has the model answer once, and writes nothing. */
export async function tryModel(scene: SetupScene, wish: ModelWish): Promise<TriedModel | SetupRefusal> {
  await loadModelProviders(scene.io);
  const label = `Asking ${wish.model === "" ? wish.provider : wish.model}`;
  const tested = await withProgress(scene.io, label, testModel(connectScene(scene), wish));
  if (!tested.ok) return tested;
  const { model, latencyMs, ref } = tested;
  return {
    name: model,
    latencyMs,
    save: async (now, edits = []) => void (await saveModel(connectScene(now), { ...wish, ref }, edits)),
  };
}

function connectScene(scene: SetupScene): ConnectScene {
  const { io, state } = scene;
  const env = { ...io.env };
  applyEnv(state.config, env);
  return {
    paths: state.paths,
    load: state.load,
    config: state.config,
    agents: setupAgents(scene),
    env,
    contributed: io.contributions.modelProviders,
  };
}

/** Why a model did not answer, as an error for the operator. */
export const silentModel = ({ message, said }: SetupRefusal): OpenClawError =>
  new OpenClawError("MODEL_SILENT", {
    message: `${withoutTerminalControls(message)} Nothing was written. It said: ${withoutTerminalControls(said)}`,
    fix: "Correct the key, the model or the address; --auth-choice skip sets up without a model.",
  });
