import { parseModelName } from "../../types/run/model.ts";
import type { MediaModels } from "../../types/media/settings.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Config } from "./schema/schema.ts";

type Defaults = Config["agents"]["defaults"];
type Choice = Defaults["imageModel"];

const MEGABYTE = 1_048_576;

/** The models and limits of the tools for images and documents. */
export function mediaOf(defaults: Defaults): Pick<AgentSettings, "media"> {
  const { pdfMaxBytesMb, pdfMaxPages, imageMaxDimensionPx: imageMaxSide } = defaults;
  const image = modelsOf(defaults.imageModel);
  const pdf = modelsOf(defaults.pdfModel);
  const draw = modelsOf(defaults.imageGenerationModel);
  return {
    media: {
      imageMaxSide,
      ...(image && { image }),
      ...(pdf && { pdf }),
      ...(draw && { draw }),
      pdfMaxBytes: pdfMaxBytesMb * MEGABYTE,
      pdfMaxPages,
    },
  };
}

/** Undefined when the config names none. */
function modelsOf(choice: Choice): MediaModels | undefined {
  const { primary, fallbacks, timeoutMs } =
    typeof choice === "object" ? choice : { primary: choice, fallbacks: [], timeoutMs: undefined };
  const models = [...(primary === undefined ? [] : [primary]), ...fallbacks].flatMap(
    (name) => parseModelName(name) ?? [],
  );
  return models.length === 0 ? undefined : { models, ...(timeoutMs !== undefined && { timeoutMs }) };
}
