import { timestamp } from "../../../prompt/timestamp.ts";
import type { PromptPart, PromptRecord } from "../../../types/run/run.ts";
import { codeBlock } from "../../../utils/text/code-span.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";
import { mostFileBytes, storeFile } from "./chat-file.ts";
import type { RunRecord } from "../../../types/journal.ts";
import { modelName } from "../../../types/run/model.ts";

/** The most UTF-16 units of JSON that the chat gets as text; a longer text becomes a file. */
const MOST_JSON = 3000;

export const CONTEXT_FORMS = ["list", "detail", "json"] as const;

/**
 * Shows the request that the model saw in the last run of the conversation, by the sizes of its parts. Only owners see
 * the names of files.
 */
export async function showContext(context: CommandContext): Promise<CommandAnswer> {
  const { key, ports, isOwner } = context;
  const word = context.args.trim().toLowerCase();
  const form = word === "" ? "list" : CONTEXT_FORMS.find((name) => name === word);
  if (!form) return { text: `Use one of: ${CONTEXT_FORMS.join(", ")}.` };
  const last = await ports.storage.journal.runs.last(key);
  if (!last) return { text: "No model has been asked in this conversation yet." };
  const found = contextViewOf(last);
  if (!found) return { text: "No record was kept of what the last run showed its model." };
  const view = isOwner ? found : withoutSources(found);
  if (form === "json") return jsonAnswer(view, context);
  const settings = ports.settings();
  const zone = settings.agents.get(settings.agentOf(key))?.timezone ?? "UTC";
  const head = [
    `What ${view.model} saw at ${timestamp(view.at, zone).slice(0, 16)}; tokens are estimated.`,
    ...sums(view),
  ];
  if (form === "detail") return { text: [...head, ...longLists(view)].join("\n") };
  return { text: [...head, ...(isOwner ? shortLists(view) : sizes(view))].join("\n") };
}

/** The view for people who are no owners: the number and the sizes of files and skills, without names and places. */
function withoutSources(view: ContextView): ContextView {
  const bare = <P extends PromptPart>(part: P): P => ({ ...part, source: "" });
  const counts = { file: 0, skill: 0 };
  const numbered = (part: ViewedPart, kind: keyof typeof counts): ViewedPart => ({
    ...part,
    kind,
    name: `${kind} ${(counts[kind] += 1)}`,
  });
  const system = view.system.map((part) => {
    if (isFile(part)) return bare(numbered(part, "file"));
    return bare(part.kind === "skill" ? numbered(part, "skill") : part);
  });
  return { ...view, system, turn: view.turn.map(bare) };
}

const isFile = ({ kind, name, source }: ViewedPart): boolean =>
  kind === "file" || (kind === "section" && /\.\w+$/.test(name) && source.endsWith(`/${name}`));

async function jsonAnswer(view: ContextView, context: CommandContext): Promise<CommandAnswer> {
  const text = JSON.stringify(view, undefined, 2);
  const bytes = Buffer.from(text);
  if (text.length <= MOST_JSON || bytes.length > mostFileBytes(context)) return { text: codeBlock(text) };
  const file = await storeFile(
    bytes,
    { name: `context-${view.runId.slice(0, 16)}.json`, mime: "application/json" },
    context,
  );
  return { text: `What ${view.model} saw.`, file };
}

const count = (value: number): string => value.toLocaleString("en");
const tokensText = (tokens: number | undefined): string => (tokens === undefined ? "" : `${count(tokens)} tokens`);

function sums({ window, system, tools, conversation, engine }: ContextView): readonly string[] {
  const ofWindow = window
    ? [
        `Window: ${count(window.used)} of ${tokensText(window.tokens)}, ${window.percent}%; ${count(window.answer)} are kept for the answer`,
      ]
    : [];
  return [
    ...ofWindow,
    `System prompt: ${window ? `${tokensText(window.system)}, ` : ""}${system.length} parts`,
    `Tools: ${window ? `${tokensText(window.tools)}, ` : ""}${tools.length}`,
    `Conversation: ${tokensText(conversation.tokens)}, ${conversation.messages} message${conversation.messages === 1 ? "" : "s"}${notes(conversation)}`,
    ...(engine === undefined || engine === "legacy" ? [] : [`Context engine: ${engine}`]),
  ];
}

function notes({ hasSummary, pruned, fit }: ConversationView): string {
  const parts = [
    ...(hasSummary ? ["begins with a summary of what was before"] : []),
    ...(pruned.trimmed > 0 ? [`${pruned.trimmed} old results of tools are shortened`] : []),
    ...(pruned.cleared > 0 ? [`${pruned.cleared} old results of tools are left out`] : []),
    ...(fit && fit.turns > 0 ? [`${fit.turns} earlier turns are left out`] : []),
    ...(fit && fit.steps > 0 ? [`${fit.steps} steps of the turn are left out`] : []),
  ];
  return parts.map((part) => `; ${part}`).join("");
}

/** A file and its characters, such as `AGENTS.md 1,200`, with the characters of the whole file where it is cut. */
function fileText({ name, chars = 0, wholeChars }: ViewedPart): string {
  const cut = wholeChars === undefined ? "" : ` of ${count(wholeChars)}, cut`;
  return `${plainMarkdown(name)} ${count(chars)}${cut}`;
}

/** The name of a skill without the word before it. */
const shortName = (name: string): string => name.replace(/^skill /, "");

const ofKind = ({ system }: ContextView, kind: ViewedPart["kind"]): readonly ViewedPart[] =>
  system.filter((part) => part.kind === kind);

function shortLists(view: ContextView): readonly string[] {
  const [files, skills] = [ofKind(view, "file"), ofKind(view, "skill")];
  return [
    ...(files.length > 0 ? [`Files, in characters: ${files.map(fileText).join(", ")}`] : []),
    ...(skills.length > 0 ? [`Skills: ${skills.map(({ name }) => plainMarkdown(shortName(name))).join(", ")}`] : []),
  ];
}

/**
 * The number and the size of files and skills, for people who are no owners: the names would say what an operator works
 * on.
 */
function sizes(view: ContextView): readonly string[] {
  const line = (title: string, parts: readonly ViewedPart[]) => {
    const chars = parts.reduce((sum, part) => sum + (part.chars ?? 0), 0);
    return parts.length > 0 ? [`${title}: ${parts.length}, ${count(chars)} characters`] : [];
  };
  return [...line("Files", ofKind(view, "file")), ...line("Skills", ofKind(view, "skill"))];
}

function longLists(view: ContextView): readonly string[] {
  const line = (part: ViewedPart) => {
    const cut = part.wholeChars === undefined ? "" : `, cut from ${count(part.wholeChars)} characters`;
    const source = part.source === "" ? "" : ` (${plainMarkdown(part.source)})`;
    return `• ${plainMarkdown(shortName(part.name))}${source}: ${tokensText(part.tokens)}, ${count(part.chars ?? 0)} characters${cut}`;
  };
  const tools = view.tools.toSorted((a, b) => (b.tokens ?? 0) - (a.tokens ?? 0));
  return [
    ...block("Files", ofKind(view, "file").map(line)),
    ...block("Skills", ofKind(view, "skill").map(line)),
    ...block("Other parts of the system prompt", ofKind(view, "section").map(line)),
    ...block(
      "Tools with their schemas",
      tools.map(
        ({ name, tokens }) => `• ${plainMarkdown(name)}${tokens === undefined ? "" : `: ${tokensText(tokens)}`}`,
      ),
    ),
    ...block(
      "Around the last turn",
      view.turn.map(({ name, tokens }) => `• ${plainMarkdown(name)}: ${tokensText(tokens)}`),
    ),
  ];
}

const block = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ["", `**${title}**`, ...lines];

/** A part of the system prompt. */
interface ViewedPart extends PromptPart {
  readonly kind: "file" | "skill" | "section";
}

/** The request that the model of a run was shown, by the sizes of its parts. Tokens are estimated. */
interface ContextView {
  readonly runId: string;
  readonly at: number;
  readonly model: string;
  readonly engine?: string;
  readonly window?: WindowView;
  readonly system: readonly ViewedPart[];
  readonly tools: readonly { readonly name: string; readonly tokens?: number }[];
  readonly conversation: ConversationView;
  /** The parts that were written around the text of the last turn. */
  readonly turn: readonly PromptPart[];
}

interface WindowView {
  readonly tokens: number;
  readonly used: number;
  readonly percent: number;
  readonly system: number;
  readonly tools: number;
  /** Tokens that are kept free for the answer. */
  readonly answer: number;
}

interface ConversationView {
  readonly messages: number;
  readonly tokens: number;
  readonly hasSummary: boolean;
  /** Results of tools that were shortened or left out because they are old. */
  readonly pruned: { readonly trimmed: number; readonly cleared: number };
  /** The number of turns and steps that were left out because the window was too small. */
  readonly fit?: PromptRecord["fit"];
}

/** The view of a run. Undefined when no model was asked in the run, or an older version of the gateway ran it. Pure. */
function contextViewOf({ runId, at, receipt }: RunRecord): ContextView | undefined {
  const { prompt, engine } = receipt;
  if (!prompt) return undefined;
  const { systemParts, bodyParts, tools, budget } = prompt;
  const model = receipt.tries?.at(-1)?.model ?? receipt.model;
  const window = windowView(prompt);
  return {
    runId,
    at,
    model: modelName(model),
    ...(engine !== undefined && { engine }),
    ...(window && { window }),
    system: systemParts.map((part) => ({ ...part, kind: kindOf(part) })),
    tools: tools.map((name, index) => {
      const tokens = budget?.eachTool?.[index];
      return { name, ...(tokens !== undefined && { tokens }) };
    }),
    conversation: conversationView(prompt),
    turn: bodyParts,
  };
}

function windowView({ budget, estimatedTokens }: PromptRecord): WindowView | undefined {
  if (!budget) return undefined;
  const { contextWindow: tokens, systemPrompt: system, reserveTools: tools, reserveResponse: answer } = budget;
  const used = system + tools + estimatedTokens;
  return { tokens, used, percent: Math.round((used / tokens) * 100), system, tools, answer };
}

function conversationView({
  messages,
  estimatedTokens: tokens,
  hasSummary,
  cuts,
  fit,
}: PromptRecord): ConversationView {
  const kinds = Object.values(cuts);
  const count = (wanted: "trimmed" | "cleared") => kinds.filter((kind) => kind === wanted).length;
  const pruned = { trimmed: count("trimmed"), cleared: count("cleared") };
  return { messages, tokens, hasSummary, pruned, ...(fit && { fit }) };
}

/**
 * The kind of a part by its name: a file of the workspace is named as its path ends, a skill as `skill <name>`; see
 * `prompt/`.
 */
function kindOf({ name, source }: PromptPart): ViewedPart["kind"] {
  if (name.startsWith("skill ")) return "skill";
  return name.endsWith(".md") && source.endsWith(name) ? "file" : "section";
}
