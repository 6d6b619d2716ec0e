import { z } from "zod";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";
import { modelName, type ModelRef } from "../types/run/model.ts";
import type { PiModel } from "./pi.ts";
import { askJson } from "./ask-json.ts";

/** The address of a model's server, and the key for it. */
export interface ServerAddress {
  readonly baseUrl: string;
  readonly id: string;
  readonly apiKey?: string | undefined;
}

/** Milliseconds for all questions to one server. It is nearby, and a run waits for the answer. */
const TIMEOUT_MS = 1000;
/** Milliseconds for which a server's answer is used: the server may be restarted with another window. */
const KEPT_MS = 60_000;
/** Tokens. A smaller window leaves little for a conversation beside the system prompt and the tools. */
const SMALL_WINDOW = 16_000;

interface Limits {
  readonly contextWindow?: number;
  readonly until: number;
}

/**
 * The limits of models that neither the config nor the catalogue knows, read from the server. llama.cpp, vLLM, LM Studio and
 * Ollama each report the window of a loaded model in a different place.
 */
export class ServerLimits {
  readonly #clock: Pick<Clock, "now">;
  readonly #log: Log | undefined;
  readonly #timeoutMs: number;
  readonly #read = new Map<string, Limits>();
  readonly #warned = new Set<string>();

  /** `timeoutMs` is the limit for all questions to one server together. */
  constructor(clock: Pick<Clock, "now">, log: Log | undefined, timeoutMs = TIMEOUT_MS) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  /** The model with its server's limits. `address` is unset when the window is already known. Never rejects. */
  async over(pi: PiModel, address: ServerAddress | undefined): Promise<PiModel> {
    const name = modelName(pi);
    const window = address === undefined ? undefined : (await this.#ask(name, address)).contextWindow;
    const contextWindow = window === undefined ? pi.contextWindow : Math.min(pi.contextWindow, window);
    const maxTokens = window === undefined ? pi.maxTokens : Math.min(pi.maxTokens, Math.floor(contextWindow / 4));
    this.#warnOf(name, contextWindow);
    if (contextWindow === pi.contextWindow && maxTokens === pi.maxTokens) return pi;
    return { ...pi, contextWindow, maxTokens };
  }

  /** Makes the next call ask the server again, which may have changed after a failure. */
  failed(ref: ModelRef): void {
    this.#read.delete(modelName(ref));
  }

  async #ask(name: string, address: ServerAddress): Promise<Limits> {
    const known = this.#read.get(name);
    if (known !== undefined && known.until > this.#clock.now()) return known;
    const contextWindow = await readWindow(address, this.#timeoutMs);
    const limits = { ...(contextWindow !== undefined && { contextWindow }), until: this.#clock.now() + KEPT_MS };
    this.#read.set(name, limits);
    return limits;
  }

  #warnOf(name: string, contextWindow: number): void {
    if (contextWindow >= SMALL_WINDOW || this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#log?.warn(
      "the model's window is small: little of a conversation fits beside the system prompt and the tools",
      {
        model: name,
        contextWindow,
        recommended: SMALL_WINDOW,
      },
    );
  }
}

/** Whether a server is on this machine or its network. No catalogue has its models, and asking it costs nothing. */
export function isNear(baseUrl: string): boolean {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname.replace(/^\[|\]$/g, "") : "";
  return /^(localhost|::1|127\..*|10\..*|192\.168\..*|172\.(1[6-9]|2\d|3[01])\..*|.*\.(local|internal|lan)|[^.:]+)$/.test(
    host,
  );
}

const tokens = z.int().positive().optional().catch(undefined);
const listed = z.lazy(() =>
  z.looseObject({
    data: z.array(
      z.looseObject({
        id: z.string(),
        /** vLLM: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html */
        max_model_len: tokens,
        context_length: tokens,
        /** LM Studio: https://lmstudio.ai/docs/app/api/endpoints/rest */
        loaded_context_length: tokens,
        max_context_length: tokens,
        /** llama.cpp */
        meta: z.looseObject({ n_ctx: tokens }).nullish().catch(undefined),
      }),
    ),
  }),
);
/** llama.cpp: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md */
const props = z.lazy(() => z.looseObject({ default_generation_settings: z.looseObject({ n_ctx: tokens }) }));
/** Ollama: https://github.com/ollama/ollama/blob/main/docs/api.md */
const running = z.lazy(() =>
  z.looseObject({ models: z.array(z.looseObject({ name: z.string(), context_length: tokens })) }),
);
const shown = z.lazy(() =>
  z.looseObject({
    parameters: z.string().optional().catch(undefined),
    model_info: z.record(z.string(), z.unknown()).optional().catch(undefined),
  }),
);

/** Tokens of the window that a server loaded a model with; undefined when it does not answer in time. Never rejects. */
async function readWindow({ baseUrl, id, apiKey }: ServerAddress, timeoutMs: number): Promise<number | undefined> {
  const root = baseUrl.replace(/\/*(?:v1\/*)?$/, "");
  const ask = asker(apiKey, AbortSignal.timeout(timeoutMs));
  const [models, llama, studio, ollama] = await Promise.all([
    ask(`${baseUrl.replace(/\/*$/, "")}/models`).then((body) => inList(body, id)),
    ask(`${root}/props`).then((body) => props.safeParse(body).data?.default_generation_settings.n_ctx),
    ask(`${root}/api/v0/models`).then((body) => inList(body, id)),
    ask(`${root}/api/ps`).then((body) => ofOllama(body, id, (path, json) => ask(`${root}${path}`, json))),
  ]);
  return llama ?? studio ?? ollama ?? models;
}

type Ask = (url: string, body?: object) => Promise<unknown>;

function asker(apiKey: string | undefined, signal: AbortSignal): Ask {
  const headers = {
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    "content-type": "application/json",
  };
  return async (url, body) => {
    try {
      const sent = body === undefined ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) };
      const answer = await askJson(url, { ...sent, headers, signal });
      return "body" in answer ? answer.body : undefined;
    } catch {
      // Each kind of server knows only one of the addresses.
      return undefined;
    }
  };
}

function inList(body: unknown, id: string): number | undefined {
  const rows = listed.safeParse(body).data?.data ?? [];
  const row = rows.find((one) => one.id === id) ?? (rows.length === 1 ? rows[0] : undefined);
  if (row === undefined) return undefined;
  const windows = [
    row.meta?.n_ctx,
    row.max_model_len,
    row.loaded_context_length,
    row.context_length,
    row.max_context_length,
  ];
  return windows.find((window) => window !== undefined);
}

/**
 * Window of a model at Ollama. The list has the window of a loaded model; another model has the window with which it
 * would be loaded.
 */
async function ofOllama(body: unknown, id: string, ask: Ask): Promise<number | undefined> {
  const models = running.safeParse(body).data?.models;
  if (models === undefined) return undefined;
  const loaded = models.find(({ name }) => name === id || name === `${id}:latest`)?.context_length;
  if (loaded !== undefined) return loaded;
  const { parameters = "", model_info: info = {} } = shown.safeParse(await ask("/api/show", { model: id })).data ?? {};
  const asked = /^num_ctx\s+(\d+)/m.exec(parameters)?.[1];
  if (asked !== undefined) return Number(asked);
  const [, length] = Object.entries(info).find(([name]) => name.endsWith(".context_length")) ?? [];
  return tokens.parse(length);
}
