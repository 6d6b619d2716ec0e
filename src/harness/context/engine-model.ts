import type { ModelHandle } from "../../providers/catalog.ts";
import type { EngineModel } from "../../types/engine/engine-turn.ts";

/** The model of a call with its key, as a context engine is told. */
export const engineModel = ({ info, profile }: Pick<ModelHandle, "info" | "profile">): EngineModel => ({
  model: info,
  ...(profile.mode !== "none" && { authProfile: profile.id }),
});
