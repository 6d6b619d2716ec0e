import type { RunEvent } from "../../types/run/events.ts";
import { Secret } from "../../utils/secrets/secret.ts";
import type { ToolLine } from "./tool-lines.ts";

/** What a chat that wants to see them is shown of the thoughts before a text: a quotation. Undefined without any. Pure. */
export function thoughtLine({ entryId, message }: Extract<RunEvent, { type: "message_end" }>): ToolLine | undefined {
  const thoughts = message.content.flatMap((part) => (part.type === "thinking" ? [part.thinking.trim()] : []));
  const text = Secret.mask(thoughts.filter((thought) => thought !== "").join("\n\n"));
  if (text === "") return undefined;
  const quoted = text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
  return { name: `thought:${entryId}`, markdown: ["💭 Reasoning:", "", ...quoted].join("\n") };
}
