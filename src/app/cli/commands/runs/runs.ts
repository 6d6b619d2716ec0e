import type { PromptContent, PromptMessage, RunLine, ShownPrompt, WholeRun } from "../../../../types/answers/runs.ts";
import { writeJson, type Io } from "../../io.ts";
import { table, dim, pairs } from "../../table.ts";
import { figures, answeredBy, showMs, localTime, tokenCount } from "./run-figures.ts";
import { readPrompt, readRun, readRuns, type RunsAsked } from "./run-source.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { removedText } from "../../../../types/tool-policy.ts";
import { principalText } from "../../../../types/run/principal.ts";
import { type PromptPart, refusedText, type ShownReceipt, toolErrorText } from "../../../../types/run/run.ts";
import { unaskedText } from "../../../../types/run/unasked.ts";
import { sourcesText } from "../../../../types/run/untrusted.ts";
import { modelName } from "../../../../types/run/model.ts";

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
  return [
    localTime(at),
    runId,
    sessionKey,
    answeredBy(receipt),
    result,
    showMs(receipt.durationMs),
    input,
    output,
    cost,
  ];
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

/** The prompt of a model in its order: the pieces of the system prompt, the tools, the messages. */
function promptText(io: Io, prompt: ShownPrompt): string {
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
    imageFiles.length > 0
      ? `${rule(io, [FILES])}${imageFiles.map((path) => `${withoutTerminalControls(path)}\n`).join("")}`
      : "",
    bodyParts.length > 0 ? `${rule(io, ["the last turn was made of"])}${bodyParts.map(partLine).join("")}` : "",
    remark(prompt),
  ];
  return blocks.filter((text) => text !== "").join("\n");
}

const FILES = "images of these files too, where they could be read";

const rule = (io: Io, facts: readonly (string | undefined)[]): string =>
  `${dim(io, `--- ${facts.filter((fact) => fact !== undefined).join(" · ")} ---`)}\n`;

const tokensOf = ({ tokens }: { tokens: number }): string => `${tokenCount(tokens)} tokens`;

function sectionText(io: Io, part: ShownPrompt["system"][number]): string {
  const text = part.text ?? "(its text is not kept any more)";
  return `${rule(io, ["system", part.name, part.source, tokensOf(part)])}${withoutTerminalControls(text.replace(/^\n+/, "").trimEnd())}\n`;
}

function messageText(io: Io, message: PromptMessage, place: string): string {
  const { role, entryId, toolName, toolCallId, isError, content } = message;
  const result = toolName === undefined ? undefined : `${toolName} ${toolCallId ?? ""}`.trim();
  const failed = isError === true ? "failed" : undefined;
  const entry = entryId === undefined ? undefined : `entry ${entryId}`;
  const facts = [place, role, result, failed, entry, tokensOf(message)];
  return `${rule(io, facts)}${content.map(contentText).join("\n")}\n`;
}

function contentText(part: PromptContent): string {
  if (part.type === "text") return withoutTerminalControls(part.text ?? "");
  if (part.type === "thinking") return `[thinking] ${withoutTerminalControls(part.thinking ?? "")}`;
  if (part.type === "image") return `[image ${part.mimeType ?? ""}, ${tokenCount(part.bytes ?? 0)} bytes]`;
  return withoutTerminalControls(`[call ${part.name ?? ""} ${part.id ?? ""}] ${JSON.stringify(part.arguments ?? {})}`);
}

const partLine = (part: PromptPart): string => `${part.name} (${part.source}): ${tokensOf(part)}\n`;

const remark = ({ faithful, why }: ShownPrompt): string =>
  faithful ? "" : `This is not known to be what was sent: ${why ?? "the transcript was changed since."}\n`;

/** A run as text for a person: its models, failures, usage, messages and replies. */
function runText(io: Io, whole: WholeRun): string {
  const { receipt } = whole.run;
  const blocks = [
    head(io, whole),
    block(io, "Models, in the order in which they were to be asked", candidateRows(receipt)),
    block(io, "Attempts", attemptRows(receipt)),
    block(io, "Not asked", skippedRows(receipt)),
    block(io, "The user's turn", partRows(receipt.prompt?.bodyParts)),
    block(io, "Messages that joined it", partRows(receipt.steered?.flat())),
    block(io, "The system prompt", partRows(receipt.prompt?.systemParts)),
    block(io, "Files that came with it", fileRows(receipt)),
    block(io, "Tools", toolRows(receipt)),
    block(io, "Of its cost, not the conversation's own", besideRows(receipt)),
    block(io, "Came in", inRows(whole)),
    block(io, "Went out", outRows(whole)),
  ];
  return blocks.filter((text) => text !== "").join("\n");
}

type Rows = readonly (readonly string[])[];

/** Empty without a row below the heads. */
function block(io: Io, title: string, rows: Rows): string {
  const [heads = [], ...others] = rows;
  return others.length === 0 ? "" : `${dim(io, `${title}:`)}\n${table(io, heads, others)}`;
}

function head(io: Io, { run }: WholeRun): string {
  const { receipt } = run;
  const { calls, durationMs, profile, trigger, plugin, compactions } = receipt;
  return pairs(io, [
    ["Run", run.runId],
    ["Session", run.sessionKey],
    ["Ended", localTime(run.at)],
    ["Result", run.result],
    ["Began by", plugin === undefined ? trigger : `${trigger} (plugin ${plugin})`],
    ["Acted for", receipt.principal && principalText(receipt.principal)],
    ["Model", answeredBy(receipt)],
    ["Key", profile],
    ["Engine", engineText(receipt)],
    ["Saw", sawText(receipt)],
    ["Window", windowText(receipt)],
    ["Model calls", String(calls)],
    ["Compactions", compactions === undefined ? undefined : String(compactions)],
    ["Not asked", receipt.unasked?.map(unaskedText).join("; ")],
    ["Removed tools", receipt.removed?.map(removedText).join("; ")],
    ["Not attached", receipt.notAttached?.map(refusedText).join("; ")],
    ["Untrusted content", receipt.untrusted && sourcesText(receipt.untrusted)],
    ["Last tool error", receipt.lastToolError && toolErrorText(receipt.lastToolError)],
    ["Took", showMs(durationMs)],
    ["Tokens", tokensText(receipt)],
    ["Cost", figures(receipt).cost],
  ]);
}

function engineText({ engine, engineDegraded }: ShownReceipt): string | undefined {
  if (engineDegraded === undefined) return engine;
  return `${engine ?? "none"} (not used: ${engineDegraded})`;
}

function sawText({ prompt }: ShownReceipt): string | undefined {
  if (!prompt) return undefined;
  const system = prompt.systemParts.reduce((sum, part) => sum + part.tokens, 0);
  const messages = `${tokenCount(prompt.messages)} messages of about ${tokenCount(prompt.estimatedTokens)} tokens`;
  return `${messages}, a system prompt of ${tokenCount(system)}, ${prompt.tools.length} tools`;
}

/** The use of the model's window. */
function windowText({ prompt }: ShownReceipt): string | undefined {
  const budget = prompt?.budget;
  if (!budget) return undefined;
  const { contextWindow, reserveResponse, reserveTools, systemPrompt, event, history } = budget;
  const fixed = `${tokenCount(systemPrompt)} the system prompt, ${tokenCount(reserveTools)} the tools, ${tokenCount(event)} the turn`;
  return `${tokenCount(contextWindow)} tokens: ${fixed}, ${tokenCount(reserveResponse)} kept for the answer, ${tokenCount(history)} left for the conversation`;
}

function tokensText({ usage }: ShownReceipt): string {
  const { input, output, cacheRead, cacheWrite } = usage;
  const cache = `${tokenCount(cacheRead)} read from the provider's cache, ${tokenCount(cacheWrite)} written to it`;
  return `${tokenCount(input)} in, ${tokenCount(output)} out, ${cache}`;
}

function candidateRows(receipt: ShownReceipt): Rows {
  const { candidates = [], tries = [], skipped = [] } = receipt;
  const rows = candidates.map(modelName).map((name) => {
    const own = tries.filter((one) => modelName(one.model) === name);
    const [passed] = skipped.filter((one) => modelName(one.model) === name);
    const last = own.at(-1);
    if (last) return [name, own.length === 1 ? last.outcome : `${last.outcome}, at attempt ${own.length}`];
    return [name, passed ? `not asked: ${passed.why}` : "not needed"];
  });
  return [["MODEL", "WHAT BECAME OF IT"], ...rows];
}

function attemptRows({ tries = [] }: ShownReceipt): Rows {
  const rows = tries.map((one, index) => [
    String(index + 1),
    modelName(one.model),
    one.profile ?? "",
    one.thinking,
    tokenCount(one.messages),
    tokenCount(one.estimatedTokens),
    showMs(one.durationMs),
    one.outcome,
    one.remedy ?? "",
    one.message ?? "",
  ]);
  return [["", "MODEL", "KEY", "THINKING", "MESSAGES", "TOKENS", "TOOK", "RESULT", "THEN", "IN ITS WORDS"], ...rows];
}

const skippedRows = ({ skipped = [] }: ShownReceipt): Rows => [
  ["MODEL", "KEY", "WHY"],
  ...skipped.map(({ model, profile = "", why }) => [modelName(model), profile, why]),
];

const partRows = (parts: readonly PromptPart[] = []): Rows => [
  ["PART", "SOURCE", "TOKENS"],
  ...parts.map(({ name, source, tokens }) => [name, source, tokenCount(tokens)]),
];

const fileRows = ({ files = [] }: ShownReceipt): Rows => [
  ["FILE", "KIND", "BYTES", "TRIES", "TOOK", "WHY NOT"],
  ...files.map(({ name = "", kind, bytes, tries, durationMs, why = "" }) => [
    name,
    kind,
    bytes === undefined ? "" : tokenCount(bytes),
    String(tries),
    showMs(durationMs),
    why,
  ]),
];

const toolRows = ({ tools = [] }: ShownReceipt): Rows => [
  ["TOOL", "CALLS", "FAILED", "TOOK"],
  ...tools.map(({ name, calls, failed, ms }) => [name, String(calls), String(failed), showMs(ms)]),
];

const besideRows = ({ beside = [] }: ShownReceipt): Rows => [
  ["FOR", "MODEL", "CALLS", "IN", "OUT", "COST"],
  ...beside.map(({ what, plugin, tool, model, calls, usage }) => {
    const { input, output, cost } = figures({ usage });
    const by = plugin ?? tool;
    return [by === undefined ? what : `${what} (${by})`, modelName(model), String(calls), input, output, cost];
  }),
];

function inRows({ inbox }: WholeRun): Rows {
  const rows = inbox.map(({ id, channel, chat, messageId, state, outcome }) => {
    const end = outcome && (outcome.why === undefined ? outcome.kind : `${outcome.kind}: ${outcome.why}`);
    return [String(id), channel, chat, messageId, end ?? state];
  });
  return [["ROW", "CHANNEL", "CHAT", "MESSAGE", "STATE"], ...rows];
}

const outRows = ({ outbox }: WholeRun): Rows => [
  ["ROW", "CHANNEL", "CHAT", "KIND", "MESSAGE", "STATE", "TRIES", "ERROR"],
  ...outbox.map(({ id, channel, chat, kind, messageId = "", state, attempts, error = "" }) => [
    String(id),
    channel,
    chat,
    kind,
    messageId,
    state,
    String(attempts),
    error,
  ]),
];
