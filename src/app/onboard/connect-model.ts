import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { Credentials } from "../../providers/auth/credentials.ts";
import { createModels, type ModelHandle, type ModelOptions } from "../../providers/catalog.ts";
import type { FromPlugins, Missing } from "../../providers/models.ts";
import { probeAll } from "../../providers/probe.ts";
import type { ProviderSettings } from "../../types/run/model-provider.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import { own } from "../../utils/own.ts";
import { knownModels, setupRefusalOf, type SetupRefusal } from "./refusals.ts";
import { keyedChoice } from "./model-choices.ts";
import { saveModel, type ConnectScene, type ModelWish } from "./save-model.ts";

export type { ConnectScene, ModelWish, ServerApi } from "./save-model.ts";

/** A model that answered and is in the config now. */
export interface Connected {
  readonly ok: true;
  /** `provider/model`. */
  readonly model: string;
  readonly latencyMs: number;
  /** The id of the stored key; unset when none was stored. */
  readonly profileId?: string;
}

const TIMEOUT_MS = 30_000;
const PROBE_TOKENS = 16;

/**
 * Asks the model for an answer. Only when it gives one, stores the key and makes the model the first of the config: both,
 * or neither. Resolves with the refusal when the model does not answer. Throws as `writeConfigValues` does when the config
 * cannot take the model, MODEL_KEY_MISSING when the stored keys cannot be read, and DISK_FULL or DISK_WRITE.
 */
export async function connectModel(scene: ConnectScene, wish: ModelWish): Promise<Connected | SetupRefusal> {
  const tested = await testModel(scene, wish);
  if (!tested.ok) return tested;
  const { ok, model, latencyMs, ref } = tested;
  const profileId = await saveModel(scene, { ...wish, ref });
  return { ok, model, latencyMs, ...(profileId !== undefined && { profileId }) };
}

/** A model that answered, and was not saved. */
interface Answered extends Omit<Connected, "profileId"> {
  readonly ref: ModelRef;
}

/** Asks the model for an answer, with the key and the server of the wish, and saves nothing. */
export async function testModel(scene: ConnectScene, wish: ModelWish): Promise<Answered | SetupRefusal> {
  const found = await findModel(scene, wish);
  if ("ok" in found) return found;
  const { ref, handle, models, profile } = found;
  const limits = { timeoutMs: scene.timeoutMs ?? TIMEOUT_MS, maxTokens: PROBE_TOKENS, concurrency: 1 };
  const [probed] = await probeAll(models, [{ ref, profile }], limits);
  if (probed === undefined) throw new Error("a probe has one result");
  const { status, error = "", latencyMs, httpStatus } = probed;
  if (status !== "ok") return setupRefusalOf({ ref, kind: status, said: error, handle, httpStatus });
  return { ok: true, model: modelName(ref), latencyMs, ref };
}

interface Found {
  readonly ref: ModelRef;
  readonly handle: ModelHandle;
  readonly models: ReturnType<typeof createModels>;
  /** The key that is tested. */
  readonly profile: string;
}

/** The model with the key that is tested. */
async function findModel(scene: ConnectScene, wish: ModelWish): Promise<Found | SetupRefusal> {
  const ref = await refOf(wish);
  if ("ok" in ref) return ref;
  const models = modelsFor(scene, wish, ref);
  const handle: ModelHandle | Missing = await models.find(ref);
  if ("missing" in handle)
    return setupRefusalOf({ ref, kind: handle.because ?? "auth", said: handle.missing, hasKey: false });
  return { ref, handle, models, profile: handle.profile.id };
}

/** Without a name: the usual model of the provider, or the first of the server. */
async function refOf({ provider, model, server, key }: ModelWish): Promise<ModelRef | SetupRefusal> {
  if (model !== "" || server === undefined) return { provider, id: model || (keyedChoice(provider)?.model ?? "") };
  const listed = await knownModels({ provider, ...server, apiKey: key?.reveal() });
  const [first] = "models" in listed ? listed.models : [];
  if (first !== undefined) return { provider, id: first };
  return setupRefusalOf({
    ref: { provider, id: "" },
    ...("models" in listed ? NO_MODELS : listed),
    address: server.baseUrl,
    hasKey: key !== undefined,
  });
}

const NO_MODELS = { kind: "model_missing", said: "The server lists no model." } as const;

/** With a new key, no other key of the provider can answer in its place. */
function modelsFor(scene: ConnectScene, { key, server, agent }: ModelWish, ref: ModelRef) {
  const { config, env, paths, agents, meter, contributed } = scene;
  const before = own(config.models.providers, ref.provider);
  const address = server && { baseUrl: server.baseUrl, ...(server.api && { api: server.api }) };
  const settings: ProviderSettings = { ...before, ...address, ...(key !== undefined && { apiKey: key }) };
  const providers =
    key === undefined && server === undefined
      ? config.models.providers
      : { ...config.models.providers, [ref.provider]: settings };
  const stores = { credentials: new Credentials(paths.credentials), ownCredentials: ownCredentialsOf(agents) };
  const keys: Partial<ModelOptions> = key === undefined ? { env, ...stores } : { env: {} };
  const options: ModelOptions = {
    ...config.models,
    env,
    auth: config.auth,
    providers,
    ...keys,
    ...(meter && { meter }),
  };
  const plugins: FromPlugins = { contributed };
  const models = createModels(options, plugins);
  return models.of(agent ?? agents[0]?.id ?? "main");
}
