import { applyPasses } from "../../../src/history/passes.ts";
import { createModels, type ModelHandle, type Models } from "../../../src/providers/catalog.ts";
import { policyFor } from "../../../src/providers/quirks.ts";
import type { Clock } from "../../../src/types/clock.ts";
import type { ChatMessage, ModelRef } from "../../../src/types/run/model.ts";
import type { Session } from "../../../src/types/session.ts";
import type { FakeModel } from "../../fakes/model.ts";
import { isObject, type Faults, type Json } from "../../history/validators/rules.ts";
import { requestOf, WIRES } from "../../history/wire.ts";

/** The four ways to speak to a model, each with one that thinks and sees. */
export const APIS = ["openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai"] as const;
export type WireApi = (typeof APIS)[number];

export const REFS: Readonly<Record<WireApi, ModelRef>> = {
  "openai-completions": { provider: "plain", id: "plain-1" },
  "anthropic-messages": { provider: "anthropic", id: "claude-sonnet-4-5" },
  "openai-responses": { provider: "openai", id: "gpt-5" },
  "google-generative-ai": { provider: "google", id: "gemini-2.5-pro" },
};

/** The API that stands behind another as its fallback. */
export const nextTo = (api: WireApi): WireApi => APIS[(APIS.indexOf(api) + 1) % APIS.length] ?? "openai-completions";

/** A request as the SDK was about to send it. */
export interface Sent {
  readonly api: string;
  readonly model: string;
  readonly request: Json;
}

export interface Wired {
  readonly models: Models;
  /** Every request so far. */
  readonly sent: readonly Sent[];
  /** What the strict validators find wrong with them. */
  faults(): Faults;
}

/** Models of all four APIs at the fake, or at a port where nobody listens. */
export function wire(fake: Pick<FakeModel, "urlFor">, options: { readonly deadApi?: WireApi } = {}): Wired {
  const sent: Sent[] = [];
  const models = tap(createModels({ providers: providersAt(fake, options.deadApi), env: {}, probeLocal: false }), sent);
  return { models, sent, faults: () => sent.flatMap((one) => faultsOf(one)) };
}

function providersAt(fake: Pick<FakeModel, "urlFor">, deadApi: WireApi | undefined) {
  return Object.fromEntries(
    APIS.map((api) => [
      REFS[api].provider,
      {
        baseUrl: api === deadApi ? "http://127.0.0.1:9" : fake.urlFor(api),
        api,
        apiKey: "sk-test-0123456789",
        models: [
          {
            id: REFS[api].id,
            reasoning: true,
            input: ["text", "image"] as const,
            contextWindow: 100_000,
            maxTokens: 8000,
          },
        ],
      },
    ]),
  );
}

/** The same models; what they are asked is kept. */
export function tap(models: Models, sent: Sent[]): Models {
  return {
    ...models,
    find: async (ref, profileId) => {
      const found = await models.find(ref, profileId);
      return "missing" in found ? found : listened(found, sent);
    },
  };
}

const listened = (handle: ModelHandle, sent: Sent[]): ModelHandle => ({
  ...handle,
  openStream: (model, context, options) =>
    handle.openStream(model, context, {
      ...options,
      onPayload: async (payload, of) => {
        const made = (await options?.onPayload?.(payload, of)) ?? payload;
        const request: unknown = JSON.parse(JSON.stringify(made));
        if (isObject(request)) sent.push({ api: model.api, model: model.id, request });
        return made;
      },
    }),
});

function faultsOf({ api, model, request }: Sent): Faults {
  const judge = WIRES.find((one) => one.model.api === api);
  return (judge?.faults(request) ?? [`nobody judges ${api}`]).map((fault) => `${model}: ${fault}`);
}

/** What is wrong with the session's conversation as a request for each API there is. */
export async function faultsEverywhere(session: Session): Promise<Faults> {
  const { messages } = await session.window(1_000_000);
  const next = { role: "user" as const, content: "and then", timestamp: 9 };
  const shown: readonly ChatMessage[] = [...messages.map((row) => row.message), next];
  const faults: Faults = [];
  for (const { model, faults: judge } of WIRES) {
    const request = await requestOf(model, applyPasses(shown, policyFor(model)));
    faults.push(...judge(request).map((fault) => `${model.provider}: ${fault}`));
  }
  return faults;
}

/** Real time for `now`; pauses of up to a minute are kept and take none, longer ones never end. */
export function skippingClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.now(),
    after(ms, call) {
      if (ms > 60_000) return () => undefined;
      waits.push(ms);
      const timer = setImmediate(call);
      return () => clearImmediate(timer);
    },
  };
}

/** An error as the provider's server words it. */
export function errorOf(
  api: WireApi,
  status: number,
  { message, type = "error" }: { message: string; type?: string },
  headers: Readonly<Record<string, string>> = {},
) {
  const body =
    api === "anthropic-messages"
      ? { type: "error", error: { type, message } }
      : { error: { message, ...(api === "google-generative-ai" ? { code: status, status: type } : { type }) } };
  return {
    raw: { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) },
  } as const;
}
