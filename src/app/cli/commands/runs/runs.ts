import { writeJson, type Io } from "../../io.ts";
import { table, dim } from "../../table.ts";
import { figures, answeredBy, showMs, timeOf, count } from "./run-figures.ts";
import type { RunLine, RunContent, RunMessage, RunPart, RunPrompt } from "./run-shapes.ts";
import { readPrompt, readRun, readRuns, type RunsAsked } from "./run-source.ts";
import { runText } from "./run-text.ts";
import { cleanText } from "../../terminal-text.ts";

export interface RunListFlags extends RunsAsked {
  readonly json?: boolean;
}

/** Runs, the latest first. */
export async function runsList(io: Io, flags: RunListFlags): Promise<number> {
  const runs = await readRuns(io, flags);
  if (flags.json === true) writeJson(io, { count: runs.length, runs });
  else if (runs.length === 0) io.out("No such run is known.\n");
  else io.out(table(io, ["TIME", "RUN", "SESSION", "MODEL", "RESULT", "TOOK", "IN", "OUT", "COST"], runs.map(cells)));
  return 0;
}

function cells({ at, runId, sessionKey, result, receipt }: RunLine): readonly string[] {
  const { input, output, cost } = figures(receipt);
  return [timeOf(at), runId, sessionKey, answeredBy(receipt), result, showMs(receipt.durationMs), input, output, cost];
}

export interface RunShowFlags {
  readonly json?: boolean;
  readonly prompt?: boolean;
}

/** Shows the course of a run, or what its model saw. Throws NOT_FOUND. */
export async function runsShow(io: Io, id: string, flags: RunShowFlags): Promise<number> {
  if (flags.prompt === true) {
    const prompt = await readPrompt(io, id);
    if (flags.json === true) writeJson(io, prompt);
    else io.out(promptText(io, prompt));
    return 0;
  }
  const run = await readRun(io, id);
  if (flags.json === true) writeJson(io, run);
  else io.out(runText(io, run));
  return 0;
}

/** What a model saw, in its order: the pieces of the system prompt, the tools, the messages. */
function promptText(io: Io, prompt: RunPrompt): string {
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
