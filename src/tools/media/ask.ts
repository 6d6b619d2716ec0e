import type { ModelRef } from "../../types/run/model.ts";
import { modelName, parseModelName } from "../../types/run/model.ts";
import type { SideAnswer } from "../../types/media/side-call.ts";
import type { ToolContext, ToolResult, ToolScene } from "../../types/run/tool.ts";
import type { MediaModels } from "../../types/media/settings.ts";
import { headBytes } from "../cap.ts";
import { textResult } from "../define.ts";
import { type ExternalSource, wrappingSize, wrapUntrusted } from "../../utils/text/untrusted.ts";
import type { Source } from "./source.ts";

/** UTF-16 units of a result when the run names no limit. */
const MOST_CHARS = 16_000;
/** Most bytes of text: any result is cut at 50 KB. */
const MOST_BYTES = 45_000;
const NOTE_CHARS = 200;

/**
 * The models of a call: the configured ones, or the one that the call names. Throws with a text for the model when the
 * config does not allow the named one.
 */
export function mediaModelsFor(
  wanted: string | undefined,
  configured: MediaModels | undefined,
  { allowedModels = [] }: ToolScene["agent"],
): readonly ModelRef[] | undefined {
  if (wanted === undefined) return configured?.models;
  const ref = parseModelName(wanted.trim());
  if (!ref) throw new Error("Write the model as provider/model, or leave it out.");
  const names = [...(configured?.models ?? []).map(modelName), ...allowedModels];
  if (names.includes(modelName(ref)) || names.includes(`${ref.provider}/*`)) return [ref];
  throw new Error(
    `The config does not allow this call the model ${modelName(ref)} (agents.defaults.models). Leave the model out.`,
  );
}

/**
 * A model's answer about files, between the markers of untrusted content, because the answer may repeat content of the
 * files.
 */
export function answerResult(
  { text, model, isCut }: SideAnswer,
  {
    sources,
    tool,
    label,
    details = {},
  }: {
    readonly sources: readonly Source[];
    readonly tool: string;
    readonly label: string;
    readonly details?: Record<string, unknown>;
  },
  { mostChars = MOST_CHARS }: Pick<ToolContext, "mostChars">,
): ToolResult {
  const external: ExternalSource = { label, from: sources.map(({ name }) => name).join(", ") };
  const room = Math.max(100, mostChars - wrappingSize(external) - NOTE_CHARS);
  const shown = headBytes(text.slice(0, room).toWellFormed(), MOST_BYTES);
  const isShort = isCut || shown.length < text.length;
  const body = wrapUntrusted(shown.trim() === "" ? "[no text]" : shown, external);
  const isForeign = sources.some((source) => source.isForeign);
  return textResult(isShort ? `${body}\n[The answer is longer than this.]` : body, {
    ...details,
    model: modelName(model),
    truncated: isShort,
    ...(isForeign && { externalContent: { untrusted: true, source: tool, provider: tool, wrapped: true } }),
  });
}

/** The port by which tools ask models. Throws with a text for the model when no model can be asked. */
export function asideOf({ aside }: Pick<ToolContext, "aside">): NonNullable<ToolContext["aside"]> {
  if (aside) return aside;
  throw new Error("No model can be asked here.");
}
