import { z } from "zod";
import type { RunRequest } from "../harness/request.ts";
import type { AnswerWish, ClientAsk, ClientTool } from "../types/chat/client-ask.ts";
import { callsOf } from "../history/parts.ts";
import type { ToolResultMessage } from "../types/run/model.ts";
import type { Session } from "../types/session.ts";
import type { Tool } from "../types/run/tool.ts";
import { formatRule } from "../utils/json-schema/json-answer.ts";

type Offered = Pick<RunRequest, "tools"> & Required<Pick<RunRequest, "toolsOn">>;

/**
 * The tools of a run with those of the client. A client's tool takes the place of the agent's own tool of that name. When the
 * client demands a call of its tools, the agent has no others.
 */
export function withClientTools({ tools, toolsOn }: Offered, { tools: given = [], wish }: ClientAsk): Offered {
  const own = calledOf(given, wish).map(asTool);
  if (own.length === 0) return { tools, toolsOn };
  const names = new Set(own.map(({ name }) => name));
  const isForced = wish?.calls !== undefined;
  const joined = (all: readonly Tool[]) => (isForced ? own : [...all.filter(({ name }) => !names.has(name)), ...own]);
  return { tools: joined(tools), toolsOn: (model) => joined(toolsOn(model)) };
}

function calledOf(tools: readonly ClientTool[], { calls }: AnswerWish = {}): readonly ClientTool[] {
  if (calls === "none") return [];
  return typeof calls === "object" ? tools.filter(({ name }) => name === calls.tool) : tools;
}

const ANY_ARGUMENTS = z.record(z.string(), z.unknown());

const asTool = ({ name, description = "", parameters }: ClientTool): Tool => ({
  name,
  label: name,
  description: description === "" ? `The tool ${name} of the client.` : description,
  input: ANY_ARGUMENTS,
  jsonSchema: parameters ?? { type: "object", properties: {}, additionalProperties: true },
  hasSideEffects: false,
  isClients: true,
  run: () => Promise.reject(new Error("the client makes this call")),
});

/** The part of the system prompt that the client's request adds; undefined when it adds none. */
export function clientPrompt({ system, wish }: Pick<ClientAsk, "system" | "wish">): string | undefined {
  const calls = wish?.calls;
  const demand = calls === "required" ? "one of your tools" : typeof calls === "object" && `the tool ${calls.tool}`;
  const parts = [
    system,
    demand ? `Answer with a call of ${demand}.` : undefined,
    wish?.format && formatRule(wish.format),
  ].filter((part) => part !== undefined && part !== "");
  return parts.length > 0 ? parts.join("\n\n") : undefined;
}

/** Entries at the end of a conversation that are searched for the calls of a client's results. */
const MOST_SEARCHED = 50;

/** The results of a client's calls, as the turn takes them. */
interface TakenResults {
  /** Results of calls that wait for one. */
  readonly results: readonly ToolResultMessage[];
  /** Words about other results, whose calls the conversation does not have or has answered: a client may repeat a request. */
  readonly told: string;
}

/** Takes the results that a client brings to a conversation. Rejects when the transcript cannot be read. */
export async function takeResults(
  { results = [], history }: Pick<ClientAsk, "results" | "history">,
  session: Pick<Session, "newest">,
): Promise<TakenResults> {
  if (results.length === 0) return { results, told: "" };
  const entries = await session.newest(MOST_SEARCHED);
  const messages = [
    ...entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : [])),
    ...(history?.messages ?? []),
  ];
  const answered = new Set(messages.flatMap((one) => (one.role === "toolResult" ? [one.toolCallId] : [])));
  const open = new Set(messages.flatMap(callsOf).flatMap(({ id }) => (answered.has(id) ? [] : [id])));
  const others = results.filter(({ toolCallId }) => !open.has(toolCallId));
  return { results: results.filter((one) => open.has(one.toolCallId)), told: others.map(resultLine).join("\n") };
}

function resultLine({ toolName, content }: ToolResultMessage): string {
  const text = content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
  return `[The call of ${toolName} gave: ${text}]`;
}
