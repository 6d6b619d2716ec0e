import { BUILT_IN_ORIGIN, type TextPart } from "./parts.ts";
import { cliReference, safety, selfUpdate, toolCallStyle, tooling } from "./sections/conduct.ts";
import { extra, inbound, projectContext, reasoningFormat } from "./sections/ending.ts";
import { memory, modelAliases, skills, timeHint } from "./sections/knowledge.ts";
import { heartbeats, messaging, replyTags, userIdentity, voice } from "./sections/people.ts";
import { type SystemContext, type SystemSection, section } from "./system-context.ts";

const IDENTITY = "You are a personal assistant running inside OpenClaw.";

const workspace: SystemSection = {
  name: "workspace",
  minimal: true,
  source: () => "agents.defaults.workspace",
  render: (context) =>
    section(
      "## Workspace",
      `You work in: ${context.sandbox?.directory ?? context.workspace}`,
      "Relative paths start there. Keep your files in it unless you are told otherwise.",
    ),
};

const documentation: SystemSection = {
  name: "documentation",
  source: ({ docsPath }) => docsPath ?? BUILT_IN_ORIGIN,
  render: (context) =>
    context.docsPath === undefined
      ? undefined
      : section(
          "## Documentation",
          `The gateway's documentation lies in: ${context.docsPath}`,
          "Read there first when you are asked how OpenClaw behaves or is configured.",
        ),
};

const sandbox: SystemSection = {
  name: "sandbox",
  minimal: true,
  source: () => "agents.defaults.sandbox",
  render: (context) => (context.sandbox === undefined ? undefined : section("## Sandbox", context.sandbox.text)),
};

const runtime: SystemSection = {
  name: "runtime",
  minimal: true,
  source: () => "this machine",
  render({ runtime: facts }) {
    const parts = [
      `agent=${facts.agentId}`,
      `host=${facts.host}`,
      `os=${facts.os} (${facts.arch})`,
      `node=${facts.node}`,
      `model=${facts.provider}/${facts.model}`,
      `thinking=${facts.thinking}`,
      `reasoning=${facts.reasoning}`,
      facts.channel === undefined ? undefined : `channel=${facts.channel}`,
      facts.capabilities === undefined ? undefined : `capabilities=${facts.capabilities.join(",") || "none"}`,
    ];
    return section(
      "## Runtime",
      `Runtime: ${parts.filter((part) => part !== undefined).join(" | ")}`,
      `${facts.reasoning === "off" ? "Nobody is shown your thoughts" : "People are shown your thoughts"} (reasoning). \`/think\` and ` +
        "`/reasoning` in the chat change these levels.",
    );
  },
};

/** The system prompt in order: sections that are the same everywhere first, sections that change most often last. */
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
  const identity = { name: "identity", source: BUILT_IN_ORIGIN, text: IDENTITY };
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
  const source = entry.source?.(context) ?? BUILT_IN_ORIGIN;
  return text === "" ? [] : [{ name: entry.name, source, text: `\n\n${text}` }];
}
