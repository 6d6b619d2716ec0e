import { cliReference, safety, selfUpdate, toolCallStyle, tooling } from "./sections/conduct.ts";
import { extra, inbound, projectContext, reasoningFormat } from "./sections/ending.ts";
import { memory, modelAliases, skills, timeHint } from "./sections/knowledge.ts";
import { heartbeats, messaging, replyTags, userIdentity, voice } from "./sections/people.ts";
import { documentation, runtime, sandbox, workspace } from "./sections/place.ts";
import type { SystemContext, SystemSection } from "./system-context.ts";

const IDENTITY = "You are a personal assistant running inside OpenClaw.";

/** The system prompt in its order: what is the same for everybody first, what changes most often last. */
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

/** The system prompt. Pure: it holds no date and nothing else that is not in the context. */
export function buildSystemPrompt(context: SystemContext): string {
  if (context.mode === "none") {
    return IDENTITY;
  }
  const sections = SYSTEM_SECTIONS.filter((entry) => context.mode === "full" || entry.minimal === true)
    .map((entry) => entry.render(context)?.trim())
    .filter((text) => text !== undefined && text !== "");
  return [IDENTITY, ...sections].join("\n\n");
}
