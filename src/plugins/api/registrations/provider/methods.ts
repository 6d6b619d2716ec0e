import type {
  ExchangedKey,
  FailedCall,
  ModelProviderMethods,
  ProviderSettings,
  ProviderAccess,
} from "../../../../types/run/model-provider.ts";
import type { FailureKind } from "../../../../types/run/run.ts";
import { Secret } from "../../../../types/secret.ts";
import { defined } from "../../../../utils/defined.ts";
import { isFields } from "../../../../utils/fields.ts";
import { own } from "../../../../utils/own.ts";
import { textIn } from "../../foreign.ts";
import type { ProviderParts } from "./parts.ts";
import { readModel, readProvider } from "./settings.ts";
import { STREAM_PARTS, streamOf } from "./stream.ts";

/** The functions of a provider object that this gateway calls. */
export const CALLED: ReadonlySet<string> = new Set([
  ...STREAM_PARTS,
  "resolveSyntheticAuth",
  "normalizeModelId",
  "prepareDynamicModel",
  "resolveDynamicModel",
  "normalizeResolvedModel",
  "prepareRuntimeAuth",
  "matchesContextOverflowError",
  "classifyFailoverReason",
  "buildMissingAuthMessage",
]);

/** The code of a provider: only the parts that the provider object has. */
export function methodsOf(parts: ProviderParts, variables: readonly string[]): ModelProviderMethods {
  const { id: provider, scope } = parts;
  const has = (...names: readonly string[]) => names.some((name) => parts.has(name));
  const context = () => ({ config: scope.shownConfig(), workspaceDir: scope.ports.workspace(), provider });
  return {
    discover: (access) => discover(parts, variables, access),
    ...(has("normalizeModelId") && {
      modelId: (modelId) => textOf(parts.call("normalizeModelId", { provider, modelId })) ?? modelId,
    }),
    ...(has("resolveDynamicModel") && {
      findModel: async (modelId, settings) => {
        const asked = { ...context(), modelId, providerConfig: shownSettings(settings), modelRegistry: NO_REGISTRY };
        await parts.ask("prepareDynamicModel", asked);
        return readModel(parts.call("resolveDynamicModel", asked));
      },
    }),
    ...(has("normalizeResolvedModel") && {
      adjustModel: (model) =>
        readModel(
          parts.call("normalizeResolvedModel", { ...context(), modelId: idOf(model), model: structuredClone(model) }),
        ),
    }),
    ...(has("prepareRuntimeAuth") && {
      exchangeKey: async ({ key, mode, profile }, model) =>
        exchangedIn(
          await parts.ask("prepareRuntimeAuth", {
            ...context(),
            env: process.env,
            modelId: idOf(model),
            model,
            apiKey: key.reveal(),
            authMode: mode,
            profileId: profile,
          }),
        ),
    }),
    ...(has(...STREAM_PARTS) && { stream: streamOf(parts) }),
    ...(has("matchesContextOverflowError", "classifyFailoverReason") && {
      classify: (failure) => kindOf(parts, failure),
    }),
    ...(has("buildMissingAuthMessage") && {
      missingKey: () =>
        textOf(parts.call("buildMissingAuthMessage", { ...context(), env: process.env, listProfileIds: () => [] })),
    }),
  };
}

function kindOf(parts: ProviderParts, { model, message, status }: FailedCall): FailureKind | undefined {
  const failure = { provider: parts.id, modelId: model, errorMessage: message, ...defined({ status }) };
  if (parts.call("matchesContextOverflowError", failure) === true) return "context_overflow";
  const reason = parts.call("classifyFailoverReason", failure);
  return typeof reason === "string" ? own(KINDS, reason) : undefined;
}

/** OpenClaw's reasons, as kinds of failures. The reasons that are missing here name no kind. */
const KINDS: Readonly<Record<string, FailureKind>> = {
  auth: "auth",
  auth_permanent: "auth",
  format: "format",
  rate_limit: "rate_limit",
  overloaded: "overloaded",
  billing: "billing",
  server_error: "network",
  timeout: "timeout",
  context_overflow: "context_overflow",
  model_not_found: "model_missing",
};

/** A provider finds no models of others here. */
const NO_REGISTRY = { find: () => undefined, getAll: () => [], getAvailable: () => [] };

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

const idOf = (model: object): unknown => (isFields(model) ? model["id"] : undefined);

/** Settings without the key, which the provider gets in another way. */
function shownSettings(settings: ProviderSettings | undefined): object | undefined {
  if (!settings) return undefined;
  const { apiKey: _key, headers: _headers, ...shown } = settings;
  return shown;
}

function exchangedIn(answer: unknown): ExchangedKey | undefined {
  if (!isFields(answer)) return undefined;
  const key = textIn(answer, "apiKey");
  const baseUrl = textIn(answer, "baseUrl");
  return key === undefined || key === "" ? undefined : { key: new Secret(key), ...defined({ baseUrl }) };
}

/** The parts of a provider object that say its models, the preferred one first; `discovery` is the older name of `catalog`. */
const CATALOGUES = ["catalog", "discovery", "staticCatalog"];

/** Asks the catalogues of a provider, in this order, for its address and models. `variables` may hold its key. */
async function discover(
  parts: ProviderParts,
  variables: readonly string[],
  found: ProviderAccess | undefined,
): Promise<ProviderSettings | undefined> {
  const access = found ?? ownAccess(parts);
  const keyOf = (text: string) => (variables.includes(text) ? (process.env[text] ?? text) : text);
  for (const name of CATALOGUES) {
    const answer: unknown = await parts.part(name)?.ask("run", catalogContext(parts, access));
    const provider = providerIn(answer, parts.id);
    if (provider) return { ...readProvider(provider, keyOf), ...(!found && access && { apiKey: access.key }) };
  }
  return undefined;
}

/** A key that the provider has without a person's doing, such as that of a server on this machine. */
function ownAccess(parts: ProviderParts): ProviderAccess | undefined {
  const { id: provider, scope } = parts;
  const answer = parts.call("resolveSyntheticAuth", { provider, config: scope.shownConfig() });
  const key = isFields(answer) ? textIn(answer, "apiKey") : undefined;
  if (key === undefined || key === "") return undefined;
  return { key: new Secret(key), mode: "api_key", profile: `${provider}:plugin` };
}

function providerIn(answer: unknown, id: string) {
  if (!isFields(answer)) return undefined;
  const { provider, providers } = answer;
  if (isFields(provider)) return provider;
  const own = isFields(providers) ? providers[id] : undefined;
  return isFields(own) ? own : undefined;
}

/** The provider gets its own key, never that of another one. */
function catalogContext({ id, scope }: ProviderParts, access: ProviderAccess | undefined): object {
  const isMine = (provider: unknown) => provider === undefined || provider === id;
  const apiKey = access?.key.reveal();
  const keyFor = (provider: unknown) =>
    isMine(provider) ? { apiKey, discoveryApiKey: apiKey } : { apiKey: undefined };
  return {
    config: scope.shownConfig(),
    workspaceDir: scope.ports.workspace(),
    env: process.env,
    resolveProviderApiKey: keyFor,
    resolveProviderAuth: (provider: unknown) => ({
      ...keyFor(provider),
      ...(access && isMine(provider)
        ? { mode: access.mode, source: access.profile.endsWith(":env") ? "env" : "profile", profileId: access.profile }
        : { mode: "none", source: "none" }),
    }),
  };
}
