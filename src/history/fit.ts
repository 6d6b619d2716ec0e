import { estimateInRequest, estimateTokens } from "../sessions/transcript/tokens.ts";
import type { ChatMessage, ToolResultMessage, UserMessage } from "../types/run/model.ts";
import type { Fit } from "../types/run/run.ts";
import { asksForRest, beginsTurn } from "../types/run/turns.ts";
import { shorten } from "../utils/text/shorten.ts";
import { isSummaryTurn } from "./assemble.ts";
import { once } from "../utils/share-calls.ts";
import { callsOf, mapSame, partsOf, textOfAnswer } from "./parts.ts";
import { isImageTurn } from "./passes/images.ts";
import { PRUNE_DEFAULTS } from "./prune.ts";
import { RESULT_SHARE, truncateResults } from "./truncate-results.ts";

/** The fit that cuts nothing. */
export const WHOLE: Fit = { cleared: 0, turns: 0, steps: 0 };

export interface FitLimits {
  /** Tokens that the messages may take. */
  readonly mostTokens: number;
  /** Tokens of the model's window. */
  readonly window: number;
  /** The user's text in the present turn, which is always sent. */
  readonly asked: string;
  /** The cuts of the previous call, which stay, so that the provider's cache holds. */
  readonly before: Fit;
}

const SHARES = [RESULT_SHARE, 0.1, 0.03] as const;
/**
 * When results alone do not save enough, more is cut than needed, so that not every call changes the beginning of the request.
 */
const TARGET = 0.75;

/**
 * Finds the least that must be cut for the messages to fit: first the largest results, then all old results, then earlier
 * turns, then the first steps of the present turn. Its last step and the user's text stay, so the messages may still be too
 * large.
 */
export function fitFor(messages: readonly ChatMessage[], { mostTokens, window, asked, before }: FitLimits): Fit {
  const size = (fit: Fit) => requestTokens(applyFit(messages, fit, asked));
  if (size(before) <= mostTokens) return before;
  let fit = before;
  for (const share of SHARES) {
    const most = Math.floor(window * share);
    fit = { ...before, eachResult: Math.min(most, before.eachResult ?? most) };
    if (size(fit) <= mostTokens) return fit;
  }
  const target = Math.floor(mostTokens * TARGET);
  for (const [kind, most] of stages(messages, asked)) {
    fit = leastOf({ ...fit, [kind]: most }, kind, (one) => size(one) <= target, before[kind]);
    if (size(fit) <= target) return fit;
  }
  return fit;
}

type Stage = "cleared" | "turns" | "steps";

/** How much of each kind can be cut. */
function stages(messages: readonly ChatMessage[], asked: string): readonly (readonly [Stage, number])[] {
  const parts = partsIn(messages, asked);
  const lastStep = messages.findLastIndex((message) => callsOf(message).length > 0);
  const results = messages.slice(0, Math.max(0, lastStep)).filter(({ role }) => role === "toolResult").length;
  return [
    ["cleared", results],
    ["turns", parts.turns.length],
    ["steps", mostSteps(parts)],
  ];
}

/** The last result stays. */
const mostSteps = ({ steps }: Parts): number => Math.max(0, steps.length - 1);

/** The smallest figure between `from` and that of `fit` that does, else that of `fit`. More cut is never larger. */
function leastOf(fit: Fit, kind: Stage, does: (fit: Fit) => boolean, from: number): Fit {
  let [low, high] = [Math.min(from, fit[kind]), fit[kind]];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (does({ ...fit, [kind]: middle })) high = middle;
    else low = middle + 1;
  }
  return { ...fit, [kind]: low };
}

/** The messages with these cuts. Pure. The same array when nothing is cut. */
export function applyFit(messages: readonly ChatMessage[], fit: Fit, asked: string): readonly ChatMessage[] {
  const { eachResult, cleared, turns, steps } = fit;
  const clear = cleared === 0 ? messages : clearResults(messages, cleared);
  const left = turns + steps === 0 ? clear : leaveOut(clear, { turns, steps, asked });
  return eachResult === undefined ? left : truncateResults(left, { windowTokens: eachResult, share: 1 });
}

function clearResults(messages: readonly ChatMessage[], count: number): readonly ChatMessage[] {
  let left = count;
  return mapSame(messages, (message) => {
    if (message.role !== "toolResult" || left === 0) return message;
    left -= 1;
    return clearOf(message);
  });
}

const clearOf = once((message: ToolResultMessage): ToolResultMessage => {
  const text = PRUNE_DEFAULTS.hardClear.placeholder;
  const cut: ToolResultMessage = { ...message, content: [{ type: "text", text }] };
  return estimateTokens(cut) < estimateTokens(message) ? cut : message;
});

interface Parts {
  /** The summary at the start, or nothing. */
  readonly head: readonly ChatMessage[];
  /** Earlier turns, each from its user message on. */
  readonly turns: readonly (readonly ChatMessage[])[];
  readonly asked: ChatMessage | undefined;
  /** The steps since: an answer with the results of its calls, or a message in between. */
  readonly steps: readonly (readonly ChatMessage[])[];
}

function partsIn(messages: readonly ChatMessage[], asked: string): Parts {
  const at = turnAt(messages, asked);
  const [first] = messages;
  const headEnd = at > 0 && first && isSummaryTurn(first) ? 1 : 0;
  const earlier = messages.slice(headEnd, Math.max(headEnd, at));
  return {
    head: messages.slice(0, headEnd),
    turns: groups(earlier, (message) => beginsTurn(message) && isSaid(message)),
    asked: messages[at],
    steps: groups(messages.slice(at + 1), ({ role }) => role === "assistant"),
  };
}

/** The index where the present turn begins; -1 when there is no user message. */
function turnAt(messages: readonly ChatMessage[], asked: string): number {
  const isStart = (message: ChatMessage): message is UserMessage => beginsTurn(message) && isSaid(message);
  const isNamed = (message: ChatMessage) => isStart(message) && userText(message).includes(asked);
  const named = asked.trim() === "" ? -1 : messages.findLastIndex(isNamed);
  return named >= 0 ? named : messages.findLastIndex(isStart);
}

/** A person's message; the gateway writes some user turns itself. */
const isSaid = (message: ChatMessage): boolean =>
  message.role === "user" && !isImageTurn(message) && !asksForRest(message);

const userText = (message: UserMessage): string =>
  partsOf(message)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");

function groups(
  messages: readonly ChatMessage[],
  begins: (message: ChatMessage) => boolean,
): readonly (readonly ChatMessage[])[] {
  const found: ChatMessage[][] = [];
  for (const message of messages) {
    const last = found.at(-1);
    if (last && !begins(message)) last.push(message);
    else found.push([message]);
  }
  return found;
}

function leaveOut(
  messages: readonly ChatMessage[],
  { turns, steps, asked }: { turns: number; steps: number; asked: string },
): readonly ChatMessage[] {
  const parts = partsIn(messages, asked);
  const goneSteps = Math.min(steps, mostSteps(parts));
  const gone = parts.steps.slice(0, goneSteps);
  // Messages of people between the steps are kept.
  const kept = [...gone.flatMap((step) => step.filter(isSaid)), ...parts.steps.slice(goneSteps).flat()];
  const turn = parts.asked && gone.length > 0 ? withNote(parts.asked, gone) : parts.asked;
  return [...parts.head, ...parts.turns.slice(turns).flat(), ...(turn ? [turn] : []), ...kept];
}

const MOST_LINES = 40;
const LINE_CHARS = 160;

/** The turn, with a list of the steps that were left out. */
function withNote(turn: ChatMessage, gone: readonly (readonly ChatMessage[])[]): ChatMessage {
  if (turn.role !== "user") return turn;
  const lines = gone.flat().flatMap(linesOf);
  const shown = lines.slice(-MOST_LINES);
  const more = lines.length > shown.length ? [`- … ${lines.length - shown.length} before these`] : [];
  const text = [
    `[The first ${gone.length} steps of this turn do not fit the model's window and are left out. What was done in them:`,
    ...more,
    ...shown,
    "Go on from there; do not do it again.]",
  ].join("\n");
  return { ...turn, content: [...partsOf(turn), { type: "text", text }] };
}

function linesOf(message: ChatMessage): readonly string[] {
  if (message.role !== "assistant") return [];
  const said = textOfAnswer(message).replace(/\s+/g, " ").trim();
  const calls = callsOf(message).map((call) => `- ${call.name} ${shorten(JSON.stringify(call.arguments), LINE_CHARS)}`);
  return [...(said === "" ? [] : [`- said: ${shorten(said, LINE_CHARS)}`]), ...calls];
}

const tokensIn = once(estimateInRequest);

/** The estimated tokens of messages in a request. Each message is counted once. */
export const requestTokens = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + tokensIn(message), 0);
