import type { StreamCall } from "../../../../types/run/model-provider.ts";
import { defined } from "../../../../utils/defined.ts";
import { type Fields, isFields } from "../../../../utils/fields.ts";
import { functionOf, numberIn, textIn } from "../../foreign.ts";
import type { ProviderParts } from "./parts.ts";

/** The functions of a provider that change a call, or make it. */
export const STREAM_PARTS = ["createStreamFn", "wrapStreamFn", "prepareExtraParams"];

/** Options of a call that `prepareExtraParams` gets and may change. */
const OPTIONS = ["temperature", "maxTokens", "cacheRetention", "headers", "metadata"];

/**
 * The stream of a provider: `createStreamFn` gives another stream than the gateway's, `wrapStreamFn` changes either,
 * and `prepareExtraParams` the parameters. Their errors end the call with an error.
 */
export const streamOf =
  (parts: ProviderParts) =>
  (next: StreamCall): StreamCall =>
  (model, context, options) => {
    const facts = factsOf(parts, model, options);
    const changed = withParams(parts, options, facts);
    const own = streamIn(parts.call("createStreamFn", facts), "createStreamFn") ?? next;
    const wrapped = streamIn(parts.call("wrapStreamFn", { ...facts, streamFn: own }), "wrapStreamFn") ?? own;
    return parts.scope.call(`provider ${parts.id} stream`, () => wrapped(model, context, changed));
  };

function streamIn(given: unknown, name: string): StreamCall | undefined {
  return given === undefined || given === null ? undefined : functionOf(given, `the answer of ${name}`);
}

function factsOf({ id, scope }: ProviderParts, model: object, options: Fields | object): object {
  const given = isFields(options) ? options : {};
  return {
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    provider: id,
    modelId: isFields(model) ? model["id"] : undefined,
    model,
    extraParams: Object.fromEntries(OPTIONS.filter((key) => given[key] !== undefined).map((key) => [key, given[key]])),
    thinkingLevel: textIn(given, "reasoning") ?? "off",
  };
}

function withParams(parts: ProviderParts, options: object, facts: object): object {
  const params = parts.call("prepareExtraParams", facts);
  if (!isFields(params)) return options;
  const known = OPTIONS.filter((key) => params[key] !== undefined).map((key) => [key, params[key]] as const);
  const maxTokens = numberIn(params, "max_tokens");
  return { ...options, ...defined({ maxTokens }), ...Object.fromEntries(known), ...payloadOf(params, options) };
}

/** `extra_body`, and the older `extraBody`: more fields of the request itself. */
function payloadOf(params: Fields, options: object): object {
  const extra = params["extra_body"] ?? params["extraBody"];
  if (!isFields(extra)) return {};
  const before = isFields(options) ? options["onPayload"] : undefined;
  return {
    onPayload: async (payload: unknown, model: unknown): Promise<unknown> => {
      const changed: unknown =
        typeof before === "function" ? await Reflect.apply(before, undefined, [payload, model]) : undefined;
      const body = changed ?? payload;
      return isFields(body) ? { ...body, ...extra } : body;
    },
  };
}
