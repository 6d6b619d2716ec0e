import type { Io } from "../../io.ts";
import { cleanText } from "../../terminal-text.ts";
import { dim } from "../../table.ts";
import { count } from "./run-figures.ts";
import type { RunContent, RunMessage, RunPart, RunPrompt } from "./run-shapes.ts";

/** What a model saw, in its order: the pieces of the system prompt, the tools, the messages. */
export function promptText(io: Io, prompt: RunPrompt): string {
  const { system, tools, toolTokens, messages, bodyParts, imageFiles } = prompt;
  const toolFacts = [
    "tools",
    String(tools.length),
    toolTokens === undefined ? undefined : tokensOf({ tokens: toolTokens }),
  ];
  const blocks = [
    ...system.map((part) => sectionText(io, part)),
    `${rule(io, toolFacts)}${tools.join(", ") || "none"}\n`,
    ...messages.map((message, index) => messageText(io, message, `message ${index + 1}`)),
    imageFiles.length > 0 ? `${rule(io, [FILES])}${imageFiles.map((path) => `${cleanText(path)}\n`).join("")}` : "",
    bodyParts.length > 0 ? `${rule(io, ["the last turn was made of"])}${bodyParts.map(partLine).join("")}` : "",
    remark(prompt),
  ];
  return blocks.filter((text) => text !== "").join("\n");
}

const FILES = "images of these files too, where they could be read";

const rule = (io: Io, facts: readonly (string | undefined)[]): string =>
  `${dim(io, `--- ${facts.filter((fact) => fact !== undefined).join(" · ")} ---`)}\n`;

const tokensOf = ({ tokens }: { tokens: number }): string => `${count(tokens)} tokens`;

function sectionText(io: Io, part: RunPart): string {
  const text = part.text ?? "(its text is not kept any more)";
  return `${rule(io, ["system", part.name, part.source, tokensOf(part)])}${cleanText(text.replace(/^\n+/, "").trimEnd())}\n`;
}

function messageText(io: Io, message: RunMessage, place: string): string {
  const { role, entryId, toolName, toolCallId, isError, content } = message;
  const result = toolName === undefined ? undefined : `${toolName} ${toolCallId ?? ""}`.trim();
  const failed = isError === true ? "failed" : undefined;
  const entry = entryId === undefined ? undefined : `entry ${entryId}`;
  const facts = [place, role, result, failed, entry, tokensOf(message)];
  return `${rule(io, facts)}${content.map(contentText).join("\n")}\n`;
}

function contentText(part: RunContent): string {
  if (part.type === "text") return cleanText(part.text ?? "");
  if (part.type === "thinking") return `[thinking] ${cleanText(part.thinking ?? "")}`;
  if (part.type === "image") return `[image ${part.mimeType ?? ""}, ${count(part.bytes ?? 0)} bytes]`;
  return cleanText(`[call ${part.name ?? ""} ${part.id ?? ""}] ${JSON.stringify(part.arguments ?? {})}`);
}

const partLine = (part: RunPart): string => `${part.name} (${part.source}): ${tokensOf(part)}\n`;

const remark = ({ faithful, why }: RunPrompt): string =>
  faithful ? "" : `This is not known to be what was sent: ${why ?? "the transcript was changed since."}\n`;
