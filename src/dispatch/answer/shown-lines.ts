import { thoughtsBetweenTags } from "../../harness/run/unanswered.ts";
import { callTopic } from "../../tools/call-topic.ts";
import type { RunEvent } from "../../types/run/events.ts";
import { planLines } from "../../types/plan.ts";
import type { VerboseLevel } from "../../types/run/verbose.ts";
import { codeBlock, codeSpan } from "../../utils/text/code-span.ts";
import { plainMarkdown } from "../../utils/text/plain-markdown.ts";
import { Secret } from "../../utils/secrets/secret.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** Most UTF-16 units of a result that a chat is shown. */
const MOST_OUTPUT = 1500;
/** Most UTF-16 units of the thoughts before one text that a chat is shown. */
const MOST_THOUGHTS = 8000;

type ToolStart = Extract<RunEvent, { type: "tool_start" }>;
type ToolEnd = Extract<RunEvent, { type: "tool_end" }>;

/** A line for the chat, with the name under which it is sent once. */
export interface ShownLine {
  readonly name: string;
  readonly markdown: string;
}

/** The line for a chat with this level when a conversation begins. Pure. */
export const sessionLine = (id: string | undefined, level: VerboseLevel): ShownLine | undefined =>
  id === undefined || level === "off" ? undefined : { name: "session", markdown: `🧭 New session: ${codeSpan(id)}` };

/** The line for a chat with this level when a call begins: the tool, and the topic of the call. Pure. */
export function callLine({ callId, name, args }: ToolStart, level: VerboseLevel): ShownLine | undefined {
  if (level === "off") return undefined;
  const topic = callTopic(name, args);
  const about = topic === undefined ? "" : `: ${codeSpan(topic)}`;
  return { name: `call:${callId}`, markdown: `🛠️ ${toolName(name)}${about}` };
}

/** The line about the agent's plan: its steps, and which steps are done. Pure. */
export function planLine({ callId, plan }: Extract<RunEvent, { type: "plan" }>, level: VerboseLevel) {
  if (level === "off" || plan.steps.length === 0) return undefined;
  const lines = planLines(plan).map((line) => plainMarkdown(Secret.mask(line).replaceAll(/\s+/g, " ")));
  return { name: `plan:${callId}`, markdown: ["📋 Plan", ...lines].join("\n\n") };
}

/**
 * The line for a chat with this level when a call has ended: a failure, and with `full` the text that the model got.
 * Pure.
 */
export function resultLine({ callId, name, isError, text }: ToolEnd, level: VerboseLevel): ShownLine | undefined {
  if (level === "off" || (level === "on" && !isError)) return undefined;
  const output = shorten(Secret.mask(text).trim(), MOST_OUTPUT, (left) => `\n… ${left} characters left out …\n`);
  const said = isError ? `⚠️ ${toolName(name)} failed` : `↳ ${toolName(name)}`;
  return { name: `result:${callId}`, markdown: output === "" ? said : `${said}\n${codeBlock(output)}` };
}

/** The thoughts before a text, as a quotation for a chat that wants to see them. Undefined without thoughts. Pure. */
export function thoughtLine({ entryId, message }: Extract<RunEvent, { type: "message_end" }>): ShownLine | undefined {
  const parts = message.content.flatMap((part) => (part.type === "thinking" ? [part.thinking.trim()] : []));
  const thoughts = [...parts, thoughtsBetweenTags(message)];
  const whole = Secret.mask(thoughts.filter((thought) => thought !== "").join("\n\n"));
  if (whole === "") return undefined;
  const text = shorten(whole, MOST_THOUGHTS, (left) => `\n… ${left} characters left out …\n`);
  const quoted = text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
  return { name: `thought:${entryId}`, markdown: ["💭 Reasoning:", "", ...quoted].join("\n") };
}

/**
 * The name of a tool as a chat shows it. The model may call a tool by any name, so only the characters of tool names
 * are shown.
 */
const toolName = (name: string): string => name.replaceAll(/[^\w.:-]+/g, "_").slice(0, 64);
