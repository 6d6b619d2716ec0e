import { z } from "zod";
import type { AnswerWish } from "../../types/chat/client-ask.ts";
import { badRequest, type ApiError } from "./errors.ts";
import { contentSchema, readContentParts } from "./parts.ts";
import {
  callsIn,
  formatIn,
  functionTool,
  withoutNulls,
  isApiError,
  isParts,
  bodyProblem,
  samplingFields,
  toolOf,
  wrongChoice,
} from "./request.ts";
import { type AskedAnswer, type Said, partsText } from "./said.ts";

const jsonSchema = z.record(z.string(), z.unknown());

const message = z.looseObject({
  type: z.literal("message").optional(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: contentSchema,
});
const functionCall = z.looseObject({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});
const functionOutput = z.looseObject({
  type: z.literal("function_call_output"),
  call_id: z.string(),
  output: contentSchema,
});
/** Items that only the model's provider understands. */
const ignored = z.looseObject({ type: z.enum(["reasoning", "item_reference"]) });
const item = z.union([ignored, functionCall, functionOutput, message], {
  error:
    "is no item that the gateway reads: a message, function_call, function_call_output, reasoning or item_reference",
});
type Item = z.infer<typeof item>;

const responseRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  tools: z.array(functionTool).max(128).nullish(),
  tool_choice: z
    .union([z.enum(["none", "auto", "required"]), z.looseObject({ type: z.literal("function"), name: z.string() })])
    .nullish(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.string(), schema: jsonSchema.optional() }).nullish() })
    .nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  user: z.string().min(1).max(256).nullish(),
  previous_response_id: z.string().min(1).nullish(),
  store: z.boolean().nullish(),
  ...samplingFields,
});
type Body = z.infer<typeof responseRequest>;

/** A request for a response. */
export interface ResponseAsked extends AskedAnswer {
  readonly isStream: boolean;
  /** Whether a later request may continue the response. */
  readonly isStored: boolean;
  readonly instructions: string | null;
}

/** Reads a request of `/v1/responses`. Never throws. */
export function readResponseBody(body: unknown): ResponseAsked | ApiError {
  const parsed = responseRequest.safeParse(body);
  if (!parsed.success) return bodyProblem(parsed.error);
  const { data } = parsed;
  const said = saidIn(data);
  if ("status" in said) return said;
  const wish = wishOf(data);
  const tools = data.tools?.map(toolOf) ?? [];
  const wrong = wrongChoice(wish, tools) ?? wrongFormat(data);
  if (wrong) return wrong;
  return {
    model: data.model,
    said,
    ask: { ...(tools.length > 0 && { tools }), ...(Object.keys(wish).length > 0 && { wish }) },
    ...withoutNulls({ user: data.user, previous: data.previous_response_id }),
    isStream: data.stream === true,
    isStored: data.store !== false,
    instructions: data.instructions ?? null,
  };
}

function saidIn({ input, instructions }: Body): readonly Said[] | ApiError {
  const said: Said[] = instructions ? [{ role: "system", parts: [{ type: "text", text: instructions }] }] : [];
  if (typeof input === "string") return [...said, { role: "user", parts: [{ type: "text", text: input }] }];
  for (const one of input) {
    const read = readItem(one);
    if (!read) continue;
    if (isApiError(read)) return read;
    const last = said.at(-1);
    // The calls of one answer are items of their own.
    if (read.role === "assistant" && last?.role === "assistant")
      said[said.length - 1] = { role: "assistant", text: last.text + read.text, calls: [...last.calls, ...read.calls] };
    else said.push(read);
  }
  return said;
}

/** The message of an item; undefined for an item that says nothing here. */
function readItem(one: Item): Said | ApiError | undefined {
  if (isCall(one))
    return { role: "assistant", text: "", calls: [{ id: one.call_id, name: one.name, args: one.arguments }] };
  if (isOutput(one)) {
    const parts = readContentParts(one.output);
    return isParts(parts) ? { role: "tool", callId: one.call_id, parts } : parts;
  }
  if (!isMessage(one)) return undefined;
  const { role } = one;
  const parts = readContentParts(one.content);
  if (!isParts(parts)) return parts;
  if (role === "assistant") return { role, text: partsText(parts), calls: [] };
  return { role: role === "user" ? "user" : "system", parts };
}

const isCall = (one: Item): one is z.infer<typeof functionCall> => one.type === "function_call";
const isOutput = (one: Item): one is z.infer<typeof functionOutput> => one.type === "function_call_output";
const isMessage = (one: Item): one is z.infer<typeof message> => one.type === undefined || one.type === "message";

function wishOf(data: Body): AnswerWish {
  const { tool_choice: choice, text } = data;
  return withoutNulls({
    temperature: data.temperature,
    topP: data.top_p,
    maxTokens: data.max_output_tokens,
    calls: callsIn(typeof choice === "string" ? choice : choice?.name, typeof choice !== "string"),
    format: formatIn(text?.format?.type, text?.format?.schema),
  });
}

const FORMATS: readonly unknown[] = ["text", "json_object", "json_schema"];

function wrongFormat({ text }: Body): ApiError | undefined {
  const format = text?.format;
  if (!format) return undefined;
  if (!FORMATS.includes(format.type))
    return badRequest("text.format.type must be text, json_object or json_schema", "text");
  return format.type === "json_schema" && !format.schema
    ? badRequest("text.format.schema is missing", "text")
    : undefined;
}
