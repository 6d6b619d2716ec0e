import type { Api, AssistantMessageEvent } from "@mariozechner/pi-ai";
import type { AuthProfile } from "../types/auth.ts";
import type { ModelInfo, ModelRef, AssistantMessage } from "../types/run/model.ts";
import { UNMETERED, type ModelMeter } from "../types/run/model-meter.ts";
import type { ModelProviderMethods, ProviderSettings, StreamCall } from "../types/run/model-provider.ts";
import { Secret } from "../types/secret.ts";
import type { FoundProfile, KeyedModel } from "./auth/profiles.ts";
import type { Missing, ModelHandle } from "./models.ts";
import { adjustedModel, buildPiModel, DEMO_PI_MODEL, infoOf } from "./build.ts";
import { withDocuments } from "./call/documents.ts";
import type { SeenWindows } from "./usage-windows.ts";
import { demoStream } from "./demo.ts";
import type { ThoughtHabits } from "./thought-habits.ts";
import { NO_LIMITS, withinLimits, type RequestLimits } from "./request-limits.ts";
import {
  loadPi,
  emptyStream,
  type PiContext,
  type PiModel,
  type PiStream,
  type PiStreamOptions,
  type StreamModel,
} from "./pi.ts";
import { isFields } from "../utils/fields.ts";
import { takesPieces } from "./call/wire.ts";
import { encoded, isSystem, piecesOfJson } from "./call/body/json-pieces.ts";
import { inPieces, ownBytes } from "./call/body/pieces.ts";
import { noteSent, sentBefore, type SentBefore } from "./call/body/sent-before.ts";
import { background } from "../utils/background.ts";
import { errorText } from "../utils/text/error-text.ts";
import { emptyMessage } from "./message.ts";

/**
 * The stream of a provider whose code may change a call, or make it itself. An error of the code, and a value that is
 * no event, become the error that ends the stream.
 */
function foreignStream(wrap: (next: StreamCall) => StreamCall, sdk: StreamModel): StreamModel {
  /* oxlint-disable typescript/no-unsafe-type-assertion -- the code passes on what it was given, with its own changes */
  const next: StreamCall = (model, context, options) =>
    sdk(model as PiModel, context as PiContext, options as PiStreamOptions);
  /* oxlint-enable typescript/no-unsafe-type-assertion */
  return (model, context, options = {}) => {
    const out = emptyStream();
    background(
      "stream of a plugin",
      pump(out, model, () => wrap(next)(model, context, options)),
    );
    return out;
  };
}

/** Passes a plugin's stream on. Never rejects. */
async function pump(out: PiStream, model: PiModel, open: () => unknown): Promise<void> {
  try {
    const source = await open();
    if (!isStream(source)) throw new TypeError("the plugin of the provider gave no stream");
    await pass(source, out);
  } catch (error) {
    const message = { ...emptyMessage(model), stopReason: "error" as const, errorMessage: errorText(error) };
    out.push({ type: "error", reason: "error", error: message });
  }
  out.end();
}

/** Passes on all events up to the last one. Throws for something that is none. */
async function pass(source: AsyncIterable<unknown>, out: PiStream): Promise<void> {
  const told = new Set<number>();
  for await (const event of source) {
    if (!isEvent(event)) throw new TypeError("the plugin of the provider gave something that is no event of a stream");
    if (event.type === "text_delta") told.add(event.contentIndex);
    const missing = event.type === "done" ? untold(event.message, told) : [];
    for (const each of [...missing, event]) out.push(each);
    if (event.type === "done" || event.type === "error") return;
  }
}

/** Events for the texts that a stream gave only in its last message. */
function untold(message: AssistantMessage, told: ReadonlySet<number>): readonly AssistantMessageEvent[] {
  return message.content.flatMap((block, contentIndex): AssistantMessageEvent[] => {
    if (block.type !== "text" || told.has(contentIndex)) return [];
    const { text } = block;
    const at = { contentIndex, partial: message };
    return [
      { type: "text_start", ...at },
      { type: "text_delta", delta: text, ...at },
      { type: "text_end", content: text, ...at },
    ];
  });
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** The field of an event that holds its message. */
const MESSAGE: Readonly<Record<string, string>> = { done: "message", error: "error" };

function isEvent(value: unknown): value is AssistantMessageEvent {
  if (!isFields(value) || typeof value["type"] !== "string") return false;
  const message = value[MESSAGE[value["type"]] ?? "partial"];
  return isFields(message) && Array.isArray(message["content"]) && isFields(message["usage"]);
}

export { ThoughtHabits } from "./thought-habits.ts";

export const DEMO_INFO: ModelInfo = { ...infoOf(DEMO_PI_MODEL), demo: true };

interface HandleParts {
  readonly meter: ModelMeter | undefined;
  /** The code of the model's provider. */
  readonly brought: ModelProviderMethods | undefined;
  readonly habits: ThoughtHabits | undefined;
  /** Keeps the limits that answers report. */
  readonly windows?: SeenWindows | undefined;
  readonly limits: RequestLimits;
}

/** The model with the key of a profile. Never rejects. */
export async function handleOf(
  { profile, open }: FoundProfile,
  built: PiModel,
  { meter = UNMETERED, brought, habits, windows, limits }: HandleParts,
): Promise<ModelHandle | Missing> {
  const opened = await open(built);
  if ("missing" in opened) return opened;
  const { apiKey, pi: whole } = await exchanged(opened, profile, brought);
  const sdk = await loadPi();
  if (built === DEMO_PI_MODEL) {
    const openStream = demoStream(sdk);
    return { info: DEMO_INFO, pi: whole, limits: NO_LIMITS, profile, apiKey, meter, openStream };
  }
  const pi = withinLimits(whole, limits);
  const { stream, classify } = brought ?? {};
  const ofApi = await streamOf(pi.api, sdk);
  const openStream = stream ? foreignStream(stream, ofApi) : ofApi;
  const takesPlainBodies = !stream && MODULES.has(pi.api);
  const habit = await habits?.of(pi);
  const info = { ...infoOf(pi), contextWindow: whole.contextWindow };
  const key = { provider: info.provider, profileId: profile.id };
  const more = {
    ...(windows && { answered: (headers: Headers) => windows.note(key, headers) }),
    ...(classify && { classify }),
    ...(habit && { habit }),
  };
  return { info, pi, limits, profile, apiKey, meter, openStream, takesPlainBodies, ...more };
}

type Headers = ReadonlyMap<string, string>;
type Load = () => Promise<(model: never, context: PiContext, options?: PiStreamOptions) => PiStream>;

/** The APIs whose module is called directly: the SDK's own table would pass each event through one more stream. */
const MODULES: ReadonlyMap<string, Load> = new Map<Api, Load>([
  [
    "openai-completions",
    async () => (await import("@mariozechner/pi-ai/openai-completions")).streamSimpleOpenAICompletions,
  ],
  ["openai-responses", async () => (await import("@mariozechner/pi-ai/openai-responses")).streamSimpleOpenAIResponses],
  ["anthropic-messages", async () => (await import("@mariozechner/pi-ai/anthropic")).streamSimpleAnthropic],
]);

const loaded = new Map<string, StreamModel>();

async function loadModule(api: string): Promise<StreamModel | undefined> {
  const module = await MODULES.get(api)?.();
  if (!module) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the module of an API takes models of this API
  const direct = module as StreamModel;
  loaded.set(api, direct);
  return direct;
}

/** How the SDK streams calls, fast for models of this API. Rejects when the API's module cannot be loaded. */
async function streamOf(api: string, { streamSimple }: Awaited<ReturnType<typeof loadPi>>): Promise<StreamModel> {
  const direct = loaded.get(api) ?? (await loadModule(api));
  if (!direct) return streamSimple;
  return (model, context, options = {}) => {
    if (model.api !== api) return streamSimple(model, context, options);
    const call = asBytes(api, { model, context, options });
    return direct(call.model, call.context, withDocuments(api, call.options));
  };
}

async function exchanged(
  { apiKey, pi }: KeyedModel,
  { mode, id: profile }: AuthProfile,
  brought: ModelProviderMethods | undefined,
): Promise<KeyedModel> {
  const found = await brought?.exchangeKey?.({ key: new Secret(apiKey), mode, profile }, pi);
  if (!found) return { apiKey, pi };
  return { apiKey: found.key.reveal(), pi: { ...pi, baseUrl: found.baseUrl ?? pi.baseUrl } };
}

interface Building {
  readonly ref: ModelRef;
  readonly settings: ProviderSettings | undefined;
  /** The model in the SDK's catalogue. */
  readonly known: PiModel | undefined;
}

/** A model whose provider has code of its own, which may know it and change it. */
export async function builtBy(
  methods: ModelProviderMethods,
  { ref, settings, known }: Building,
): Promise<PiModel | undefined> {
  const pi = buildPiModel(ref, await withFound(ref, settings, methods), known);
  const adjusted = pi && methods.adjustModel?.(pi);
  return adjusted ? adjustedModel(pi, adjusted) : pi;
}

async function withFound(
  { id }: ModelRef,
  settings: ProviderSettings | undefined,
  methods: ModelProviderMethods,
): Promise<ProviderSettings | undefined> {
  if (settings?.models?.some((model) => model.id === id)) return settings;
  const found = await methods.findModel?.(id, settings);
  return found ? { ...settings, models: [...(settings?.models ?? []), { ...found, id }] } : settings;
}

/** The APIs whose SDK sends a body of bytes as it is. */
const TAKES_BYTES: ReadonlySet<string> = new Set(["openai-completions", "openai-responses"]);

/** A call of the SDK. */
interface Call {
  readonly model: PiModel;
  readonly context: PiContext;
  readonly options: PiStreamOptions;
}

/**
 * Changes a call of the SDK so that the request is sent as bytes, which are made here, and not as a text, which the SDK
 * would make. A single character outside of Latin-1 gives the whole text two bytes a character, which doubles the
 * memory of a long conversation and more than doubles the time. Returns the same call when the SDK of this API takes no
 * bytes.
 */
function asBytes(api: string, call: Call): Call {
  if (!TAKES_BYTES.has(api)) return call;
  const { model, context, options } = call;
  const { headers, onPayload } = options;
  // The SDK takes its `fetch` now. Somebody may replace the global one before `onPayload` has answered.
  const isInPieces = takesPieces();
  const before = api === "openai-completions" ? sentBefore(call) : undefined;
  const made = (body: unknown): unknown => {
    const bytes = bytesOf(body, before, isInPieces);
    if (api === "openai-completions" && isFields(body) && Array.isArray(body["messages"]))
      noteSent(call, before, isSystem(body["messages"][0]) ? body["messages"].slice(1) : body["messages"]);
    return bytes;
  };
  return {
    model,
    context: before ? { ...context, messages: context.messages.slice(before.count) } : context,
    options: {
      ...options,
      headers: { ...headers, "content-type": "application/json" },
      onPayload: async (payload, of) => made((await onPayload?.(payload, of)) ?? payload),
    },
  };
}

/** The JSON of a request, in UTF-8. Of the fields, the SDK reads only `stream`, and no byte. */
function bytesOf(body: unknown, before: SentBefore | undefined, isInPieces: boolean): unknown {
  if (!isFields(body)) return body;
  const pieces = encoded(piecesOfJson(body, before?.pieces), ownBytes);
  return Object.assign(isInPieces ? inPieces(pieces) : Buffer.concat(pieces), { stream: body["stream"] });
}
