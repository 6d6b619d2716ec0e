import { callTopic } from "../../tools/call-topic.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { VerboseLevel } from "../../types/run/verbose.ts";
import { Secret } from "../../utils/secrets/secret.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** Most UTF-16 units of a result that a chat is shown. */
const MOST_OUTPUT = 1500;

type ToolStart = Extract<RunEvent, { type: "tool_start" }>;
type ToolEnd = Extract<RunEvent, { type: "tool_end" }>;

/** A line for the chat, with the name under which it is sent once. */
export interface ShownLine {
  readonly name: string;
  readonly markdown: string;
}

/** What a chat with this level is told when a call begins: the tool, and what the call is about. Pure. */
export function callLine({ callId, name, args }: ToolStart, level: VerboseLevel): ShownLine | undefined {
  if (level === "off") return undefined;
  const topic = callTopic(name, args);
  const about = topic === undefined ? "" : `: ${codeSpan(Secret.mask(topic))}`;
  return { name: `call:${callId}`, markdown: `🛠️ ${name}${about}` };
}

/** What it is told when the call has ended: a failure, and with `full` the text that the model got. Pure. */
export function resultLine({ callId, name, isError, text }: ToolEnd, level: VerboseLevel): ShownLine | undefined {
  if (level === "off" || (level === "on" && !isError)) return undefined;
  const output = shorten(Secret.mask(text).trim(), MOST_OUTPUT, (left) => `\n… ${left} characters left out …\n`);
  const said = isError ? `⚠️ ${name} failed` : `↳ ${name}`;
  return { name: `result:${callId}`, markdown: output === "" ? said : `${said}\n${codeBlock(output)}` };
}

/** What a chat that wants to see them is shown of the thoughts before a text: a quotation. Undefined without any. Pure. */
export function thoughtLine({ entryId, message }: Extract<RunEvent, { type: "message_end" }>): ShownLine | undefined {
  const thoughts = message.content.flatMap((part) => (part.type === "thinking" ? [part.thinking.trim()] : []));
  const text = Secret.mask(thoughts.filter((thought) => thought !== "").join("\n\n"));
  if (text === "") return undefined;
  const quoted = text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
  return { name: `thought:${entryId}`, markdown: ["💭 Reasoning:", "", ...quoted].join("\n") };
}

function codeSpan(text: string): string {
  const fence = "`".repeat(longestRun(text) + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

function codeBlock(text: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}\n${text}\n${fence}`;
}

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
