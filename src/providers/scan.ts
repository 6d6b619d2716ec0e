import { z } from "zod";
import { askJson } from "./ask-json.ts";

/** A model in a server's list. */
export interface ScannedModel {
  readonly id: string;
  readonly name?: string;
  /** Tokens. */
  readonly contextWindow?: number;
  /** Whether the model costs nothing by the server's own prices. Unset when the server names none. */
  readonly isFree?: boolean;
}

export interface Scanned {
  readonly provider: string;
  readonly baseUrl: string;
  readonly models: readonly ScannedModel[];
  /** Why there is no list. Contains no secret. */
  readonly problem?: string;
}

export interface ScanTarget {
  readonly provider: string;
  readonly baseUrl: string;
  /** The API of the server, as the config names it. */
  readonly api?: string | undefined;
  readonly apiKey?: string | undefined;
}

const price = z.union([z.string(), z.number()]).transform(Number);
const openAiShape = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string().optional(),
      display_name: z.string().optional(),
      context_length: z.number().nullish(),
      pricing: z.looseObject({ prompt: price, completion: price }).nullish(),
    }),
  ),
});
const ollamaShape = z.looseObject({ models: z.array(z.looseObject({ name: z.string() })) });

/** The APIs that have a list of models; the others have none, or one that needs a signature. */
export const LISTING: ReadonlySet<string> = new Set([
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "ollama",
]);

/** Problems of servers that say nothing. */
export const NO_ANSWER_IN_TIME = "no answer in time";
export const UNREACHED = "not reached";
/** The problem of a server that answers something else. */
export const NO_LIST = "its answer is no list of models";

/** Asks a server for its models. Never rejects; `problem` says what failed. */
export async function scanServer(target: ScanTarget, timeoutMs: number): Promise<Scanned> {
  const { provider, baseUrl } = target;
  const isOllama = target.api === "ollama";
  const url = isOllama
    ? `${baseUrl.replace(/\/*(?:v1\/*)?$/, "")}/api/tags`
    : `${baseUrl.replace(/\/*$/, "")}${target.api === "anthropic-messages" ? "/v1" : ""}/models`;
  try {
    const answer = await askJson(url, { headers: headersFor(target), signal: AbortSignal.timeout(timeoutMs) });
    if ("status" in answer) return { provider, baseUrl, models: [], problem: `HTTP ${answer.status}` };
    return { provider, baseUrl, models: isOllama ? fromOllama(answer.body) : fromOpenAi(answer.body) };
  } catch (error) {
    return { provider, baseUrl, models: [], problem: problemOf(error) };
  }
}

function headersFor({ api, apiKey }: ScanTarget): Record<string, string> {
  if (apiKey === undefined) return {};
  if (api === "anthropic-messages") return { "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
  return { authorization: `Bearer ${apiKey}` };
}

function problemOf(error: unknown): string {
  if (error instanceof z.ZodError || error instanceof SyntaxError) return NO_LIST;
  if (error instanceof RangeError) return "its answer is too long";
  if (error instanceof Error && error.name === "TimeoutError") return NO_ANSWER_IN_TIME;
  return UNREACHED;
}

const fromOllama = (body: unknown): readonly ScannedModel[] =>
  ollamaShape.parse(body).models.map(({ name }) => ({ id: name }));

function fromOpenAi(body: unknown): readonly ScannedModel[] {
  return openAiShape.parse(body).data.map(({ id, name, display_name: shown, context_length: size, pricing }) => {
    const title = name ?? shown;
    return {
      id,
      ...(title !== undefined && { name: title }),
      ...(size != null && { contextWindow: size }),
      ...(pricing != null && { isFree: pricing.prompt === 0 && pricing.completion === 0 }),
    };
  });
}
