import { BUILT_IN, type TextPart } from "./parts.ts";
import { cliReference, safety, selfUpdate, toolCallStyle, tooling } from "./sections/conduct.ts";
import { extra, inbound, projectContext, reasoningFormat } from "./sections/ending.ts";
import { memory, modelAliases, skills, timeHint } from "./sections/knowledge.ts";
import { heartbeats, messaging, replyTags, userIdentity, voice } from "./sections/people.ts";
import { documentation, runtime, sandbox, workspace } from "./sections/place.ts";
import type { SystemContext, SystemSection } from "./system-context.ts";

const IDENTITY = "You are a personal assistant running inside OpenClaw.";

/** The system prompt in order: sections that are the same everywhere first, those that change most often last. */
export const SYSTEM_SECTIONS: readonly SystemSection[] = [
  tooling,
  toolCallStyle,
  safety,
  cliReference,
  skills,
  memory,
  selfUpdate,
  modelAliases,
  timeHint,
  workspace,
  documentation,
  sandbox,
  runtime,
  userIdentity,
  replyTags,
  messaging,
  voice,
  heartbeats,
  reasoningFormat,
  extra,
  inbound,
  projectContext,
];

/** The pieces of the system prompt in order. Pure: the same context makes the same pieces. */
export function systemPromptParts(context: SystemContext): readonly TextPart[] {
  const identity = { name: "identity", source: BUILT_IN, text: IDENTITY };
  if (context.mode === "none") return [identity];
  const sections = SYSTEM_SECTIONS.filter((entry) => context.mode === "full" || entry.minimal === true);
  return [identity, ...sections.flatMap((entry) => partsOf(entry, context))];
}

/** A text from a config key or a plugin that replaces the whole prompt. */
export const wholePrompt = (text: string, source: string): readonly TextPart[] => [{ name: "override", source, text }];

/** Puts an empty line before a section, and a line break between its pieces. */
function partsOf(entry: SystemSection, context: SystemContext): readonly TextPart[] {
  const rendered = entry.render(context);
  if (rendered !== undefined && typeof rendered !== "string") {
    return rendered.map((part, index) => ({ ...part, text: `${index === 0 ? "\n\n" : "\n"}${part.text}` }));
  }
  const text = rendered?.trim() ?? "";
  const source = entry.source?.(context) ?? BUILT_IN;
  return text === "" ? [] : [{ name: entry.name, source, text: `\n\n${text}` }];
}
