import { z } from "zod";
import type { AnswerFormat, AnswerWish, ClientTool } from "../../types/chat/client-ask.ts";
import { isFields } from "../../utils/fields.ts";
import { problemsOf } from "../transport/frames.ts";
import { badRequest, type ApiError } from "./errors.ts";
import { contentSchema, readContentParts } from "./parts.ts";
import { type AskedAnswer, type Said, type SaidPart, partsText } from "./said.ts";

const jsonSchema = z.record(z.string(), z.unknown());
const toolName = z.string().regex(/^[\w-]{1,64}$/, { error: "must have 1 to 64 letters, digits, _ or -" });
const functionFields = { name: toolName, description: z.string().nullish(), parameters: jsonSchema.nullish() };

/** A function of the client, as the Responses API has it; the chat API has it in `function`. */
export const functionTool = z.looseObject({ type: z.literal("function"), ...functionFields });
const chatTool = z.looseObject({ type: z.literal("function"), function: z.looseObject(functionFields) });

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: contentSchema }),
  z.looseObject({ role: z.literal("user"), content: contentSchema }),
  z.looseObject({
    role: z.literal("assistant"),
    content: contentSchema.nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({ role: z.literal("tool"), content: contentSchema, tool_call_id: z.string() }),
]);
type ApiMessage = z.infer<typeof message>;

const chatChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) }),
]);

/** Options of samplingFields, which both protocols have. */
export const samplingFields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
};

const completionRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().min(1).max(256).nullish(),
  tools: z.array(chatTool).max(128).nullish(),
  tool_choice: chatChoice.nullish(),
  functions: z.array(z.unknown()).max(0, { error: "is the old form of tools; send tools" }).nullish(),
  function_call: z.enum(["none", "auto"]).nullish(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: jsonSchema.optional() }).optional() })
    .nullish(),
  n: z.literal(1, { error: "must be 1: a request gets one answer" }).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  ...samplingFields,
});
type Completion = z.infer<typeof completionRequest>;

/** A request for a chat completion. */
export interface CompletionAsked extends AskedAnswer {
  readonly isStream: boolean;
  /** Whether the stream ends with the tokens that the run took. */
  readonly withUsage: boolean;
}

export const isApiError = (value: object): value is ApiError =>
  "status" in value && "message" in value && "code" in value;

/** Reads a request of `/v1/chat/completions`. Never throws. */
export function readCompletionBody(body: unknown): CompletionAsked | ApiError {
  const parsed = completionRequest.safeParse(body);
  if (!parsed.success) return bodyProblem(parsed.error);
  const { data } = parsed;
  const said: Said[] = [];
  for (const one of data.messages) {
    const read = readMessage(one);
    if (isApiError(read)) return read;
    said.push(read);
  }
  const wish = wishOf(data);
  const tools = data.tools?.map((tool) => toolOf(tool.function)) ?? [];
  const wrong = wrongChoice(wish, tools) ?? wrongFormat(data);
  if (wrong) return wrong;
  return {
    model: data.model,
    said,
    ask: { ...(tools.length > 0 && { tools }), ...(Object.keys(wish).length > 0 && { wish }) },
    ...(data.user ? { user: data.user } : {}),
    isStream: data.stream === true,
    withUsage: data.stream_options?.include_usage === true,
  };
}

/** The error for a body of another shape, which names the first field that is wrong. */
export function bodyProblem(error: z.ZodError): ApiError {
  const [first] = error.issues;
  const param = first?.path[0];
  return badRequest(problemsOf(error), typeof param === "string" ? param : undefined);
}

function readMessage(given: ApiMessage): Said | ApiError {
  const parts = readContentParts(given.content ?? "");
  if (!isParts(parts)) return parts;
  switch (given.role) {
    case "system":
    case "developer":
      return { role: "system", parts };
    case "user":
      return { role: "user", parts };
    case "tool":
      return { role: "tool", callId: given.tool_call_id, parts };
    case "assistant": {
      const calls = (given.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args }));
      return { role: "assistant", text: partsText(parts), calls };
    }
  }
}

export const isParts = (value: readonly SaidPart[] | ApiError): value is readonly SaidPart[] => Array.isArray(value);

interface GivenTool {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Record<string, unknown> | null | undefined;
}

export function toolOf({ name, description, parameters }: GivenTool): ClientTool {
  return {
    name,
    ...(typeof description === "string" && description !== "" && { description }),
    ...(parameters && { parameters }),
  };
}

function wishOf(data: Completion): AnswerWish {
  const { tool_choice: choice, response_format: format, stop } = data;
  const stops = [stop ?? []].flat().filter((one) => one !== "");
  return withoutNulls({
    temperature: data.temperature,
    topP: data.top_p,
    maxTokens: data.max_completion_tokens ?? data.max_tokens,
    stop: stops.length > 0 ? stops : undefined,
    seed: data.seed,
    frequencyPenalty: data.frequency_penalty,
    presencePenalty: data.presence_penalty,
    calls: callsIn(typeof choice === "string" ? choice : choice?.function.name, typeof choice !== "string"),
    format: formatIn(format?.type, format?.json_schema?.schema),
  });
}

type Given<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** The same object without the keys that a request left out or set to null. */
export const withoutNulls = <T extends object>(all: T): Given<T> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries forgets the keys
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== null)) as Given<T>;

/** Whether tools are called, by a word or by the name of the only tool. */
export function callsIn(choice: string | undefined, isName: boolean): AnswerWish["calls"] | undefined {
  if (choice === undefined) return undefined;
  if (isName) return { tool: choice };
  return choice === "none" || choice === "required" ? choice : undefined;
}

export function formatIn(
  type: string | undefined,
  schema: Record<string, unknown> | undefined,
): AnswerFormat | undefined {
  if (type === "json_object") return {};
  return type === "json_schema" && schema ? { schema } : undefined;
}

const FORMATS: readonly unknown[] = ["text", "json_object", "json_schema"];

function wrongFormat({ response_format: format }: Completion): ApiError | undefined {
  if (!format) return undefined;
  if (!FORMATS.includes(format.type))
    return badRequest("response_format.type must be text, json_object or json_schema", "response_format");
  const isBare = format.type === "json_schema" && !isFields(format.json_schema?.schema);
  return isBare ? badRequest("response_format.json_schema.schema is missing", "response_format") : undefined;
}

/** The error for a demand of calls that the request has no tools for. */
export function wrongChoice({ calls }: AnswerWish, tools: readonly ClientTool[]): ApiError | undefined {
  if (calls === "required" && tools.length === 0) return badRequest("tool_choice needs tools", "tool_choice");
  const name = typeof calls === "object" ? calls.tool : undefined;
  const isThere = name === undefined || tools.some((tool) => tool.name === name);
  return isThere ? undefined : badRequest(`tool_choice names ${name}, which is not among the tools`, "tool_choice");
}
