import type { TextPart } from "./parts.ts";
import type { SandboxNote } from "../types/run/tool.ts";
import type { SkillSummary } from "./skills/skill-file.ts";

/** `full` for an agent, `minimal` in the session of a subagent, `none` for the first line alone. */
export type PromptMode = "full" | "minimal" | "none";

/** A file of the workspace as it is in the prompt. */
export interface ContextFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly content: string;
  /** Characters of the whole file, where `content` is only a part. */
  readonly wholeChars?: number;
}

/** The chat of the conversation, from the gateway's own knowledge; the same for every turn of a session. */
export interface InboundFacts {
  readonly chatId: string;
  readonly channel: string;
  readonly chatType: "direct" | "group";
  readonly account?: string;
  /**
   * Facts that hold for every message of the session. Facts that change from message to message are in the turns, for
   * the prompt's cache.
   */
  readonly flags?: { readonly is_group_chat: boolean; readonly is_thread: boolean };
}

export interface RuntimeFacts {
  readonly agentId: string;
  readonly host: string;
  readonly os: string;
  readonly arch: string;
  readonly node: string;
  readonly model: string;
  readonly provider: string;
  readonly channel?: string;
  /** The levels of the conversation: how much the model thinks, and whether people see its thoughts. */
  readonly thinking: string;
  readonly reasoning: "off" | "on" | "stream";
  /** `inlineButtons`: messages of the chat may have buttons. */
  readonly capabilities?: readonly "inlineButtons"[];
}

/** Everything that the system prompt is made of. Equal contexts make equal bytes, so that providers can cache them. */
export interface SystemContext {
  readonly mode: PromptMode;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly skills: readonly SkillSummary[];
  readonly workspace: string;
  readonly docsPath?: string;
  readonly runtime: RuntimeFacts;
  readonly timezone?: string;
  /** The day of the request in that time zone, as `Sunday, 2026-11-22`. Only a new day changes it, and with it the prompt. */
  readonly today?: string;
  readonly ownerIds: readonly string[];
  /** The model writes its thoughts and its answer in tags. */
  readonly reasoningTags: boolean;
  /** The text of a heartbeat; set for the default agent. */
  readonly heartbeat?: string;
  readonly extra?: string;
  readonly inbound?: InboundFacts;
  readonly contextFiles: readonly ContextFile[];
  readonly modelAliases?: Readonly<Record<string, string>>;
  readonly ttsHint?: string;
  /** Differences of commands and files in the sandbox. */
  readonly sandbox?: SandboxNote;
}

/** A section of the prompt; `render` gives undefined when the section is empty. */
export interface SystemSection {
  readonly name: string;
  /** The section is also part of a subagent's prompt. */
  readonly minimal?: boolean;
  /** Origin of the section's text; built in when unset. */
  source?(context: SystemContext): string;
  /** Pieces for a section that is made of several sources, a line each or more. */
  render(context: SystemContext): string | readonly TextPart[] | undefined;
}

export function hasTool(context: SystemContext, name: string): boolean {
  return context.tools.some((tool) => tool.name === name);
}

/** A heading and its lines. */
export function section(heading: string, ...lines: readonly (string | undefined)[]): string {
  return [heading, ...lines.filter((line) => line !== undefined)].join("\n");
}
