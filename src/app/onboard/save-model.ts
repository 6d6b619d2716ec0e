import type { Credential } from "../../providers/auth/credential.ts";
import { Credentials, type StoredKeys } from "../../providers/auth/credentials.ts";
import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import type { ModelProviderContribution } from "../../types/contribution.ts";
import type { ModelMeter } from "../../types/run/model-meter.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import type { Secret } from "../../types/secret.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Env } from "../../utils/env.ts";
import { own } from "../../utils/own.ts";
import { writeConfigValues } from "../config/edit/write.ts";
import { pathOfAgent } from "../config/keys/agent-key.ts";
import type { LoadOptions } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import type { KeyPath } from "../config/schema/problem.ts";
import type { Config } from "../config/schema/schema.ts";

/** Where a model is connected: the state directory, and what its process knows. */
export interface ConnectScene {
  readonly paths: Pick<StatePaths, "credentials">;
  readonly load: LoadOptions;
  /** The config as it is now. */
  readonly config: Config;
  readonly agents: readonly AgentSettings[];
  readonly env: Env;
  readonly contributed: readonly ModelProviderContribution[];
  /** Pays for the test; nothing does when unset. */
  readonly meter?: ModelMeter;
  readonly timeoutMs?: number;
}

/** A model and the way to it, as a person chose them. */
export interface ModelWish {
  readonly provider: string;
  /** The model's id. When empty, the usual one of the provider, or the first that the server lists. */
  readonly model: string;
  /** A new key, which is stored. Without it, the key that the gateway finds for the provider: stored, of the config, of the environment, or none. */
  readonly key?: Secret;
  /** How the new key is kept; as an API key when unset. */
  readonly keep?: KeptAs;
  /** A server that the gateway does not know, or another address of a provider that it knows. */
  readonly server?: Server;
  /** What the model is for; it is asked first when unset. */
  readonly use?: ModelUse;
  /** The agent that shall use the model. When unset: all that name none of their own, and the default agent. */
  readonly agent?: string;
}

/** The model is asked first, or when those before it fail; or its provider only gets the key or server. */
export type ModelUse = "first" | "fallback" | "none";

/** A key or the token of a subscription under a name, with its end in epoch milliseconds; or a variable, to which the config refers. */
export type KeptAs =
  | { readonly as: "key"; readonly profileId: string }
  | { readonly as: "token"; readonly profileId: string; readonly expires?: number }
  | { readonly as: "variable"; readonly name: string };

interface Server {
  readonly baseUrl: string;
  /** The provider's own when unset. */
  readonly api?: ServerApi;
  /** What the model takes; text when unset. */
  readonly input?: readonly ("text" | "image")[];
}

export type ServerApi = "openai-completions" | "openai-responses" | "anthropic-messages";

type Tested = Omit<ModelWish, "provider" | "model"> & { readonly ref: ModelRef };

/**
 * Stores the key and writes the model into the config, with `others` in the same write. The key goes first: without its model it changes no
 * answer. When the config is not written, the keys are as before. Resolves with the id of the stored key. Throws as `writeConfigValues` and
 * `Credentials` do.
 */
export async function saveModel(
  scene: ConnectScene,
  tested: Tested,
  others: readonly Edit[] = [],
): Promise<string | undefined> {
  const { config, load } = scene;
  const { ref, key, keep } = tested;
  const edits = [...others, ...serverEdits(config, tested), ...routeEdits(scene, tested)];
  if (key === undefined || keep?.as === "variable") {
    const changed = [...edits, ...variableEdits(tested)];
    if (changed.length > 0) await writeConfigValues(load, changed);
    return undefined;
  }
  const store = await storeFor(scene, tested);
  const before = await store.read();
  const id = keep?.profileId ?? idFor(config, before, ref.provider);
  const order = orderWith(id, before, ref.provider);
  try {
    await store.put(id, credentialOf(ref.provider, key, keep));
    if (order) await store.setOrder(ref.provider, order);
    const changed = [...edits, ...orderEdits(config, ref.provider, id)];
    if (changed.length > 0) await writeConfigValues(load, changed);
    return id;
  } catch (error) {
    await restore(store, before, { id, provider: ref.provider, isOrdered: order !== undefined });
    throw error;
  }
}

function credentialOf(provider: string, key: Secret, keep: KeptAs | undefined): Credential {
  if (keep?.as !== "token") return { type: "api_key", provider, key };
  return { type: "token", provider, token: key, ...(keep.expires !== undefined && { expires: keep.expires }) };
}

function variableEdits({ ref, keep }: Tested): readonly Edit[] {
  if (keep?.as !== "variable") return [];
  const value = { source: "env", provider: "default", id: keep.name };
  return [{ path: ["models", "providers", ref.provider, "apiKey"], value }];
}

/** An agent that has keys of its own for the provider would use these first. */
async function storeFor({ agents, paths }: ConnectScene, { agent, ref }: Tested): Promise<Credentials> {
  const shared = new Credentials(paths.credentials);
  const mine = ownCredentialsOf(agents)(agent ?? agents[0]?.id ?? "");
  if (!mine) return shared;
  const { profiles } = await mine.read();
  return [...profiles.values()].some(({ provider }) => provider === ref.provider) ? mine : shared;
}

/** A name that no login has, and that the config does not declare as something else. */
function idFor({ auth }: Config, { profiles }: StoredKeys, provider: string): string {
  const fits = (id: string): boolean => {
    const [stored, declared] = [profiles.get(id), own(auth.profiles, id)];
    return (
      (stored === undefined || (stored.type === "api_key" && stored.provider === provider)) &&
      (declared === undefined || (declared.mode === "api_key" && declared.provider === provider))
    );
  };
  const names = ["default", "key", "typed"].map((name) => `${provider}:${name}`);
  return names.find(fits) ?? `${provider}:typed-${profiles.size}`;
}

/** The new key is the first. Undefined when it is anyway: there is no other key. */
function orderWith(id: string, { profiles, order }: StoredKeys, provider: string): readonly string[] | undefined {
  const stored = [...profiles].filter(([, one]) => one.provider === provider).map(([name]) => name);
  const others = (own(order, provider) ?? stored).filter((name) => name !== id);
  return others.length === 0 ? undefined : [id, ...others];
}

/** Puts the keys back as they were. */
async function restore(
  store: Credentials,
  { profiles, order }: StoredKeys,
  { id, provider, isOrdered }: { readonly id: string; readonly provider: string; readonly isOrdered: boolean },
): Promise<void> {
  const before: Credential | undefined = profiles.get(id);
  if (before) await store.put(id, before);
  else await store.remove(id);
  if (isOrdered) await store.setOrder(provider, own(order, provider));
}

interface Edit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** The keys of `auth.order` are the only ones that are used, so the new one is added. */
function orderEdits({ auth }: Config, provider: string, id: string): readonly Edit[] {
  const order = own(auth.order, provider);
  if (!order || order[0] === id) return [];
  return [{ path: ["auth", "order", provider], value: [id, ...order.filter((one) => one !== id)] }];
}

/** A server that the gateway does not know by itself, and its model. */
function serverEdits({ models }: Config, { ref, server }: Tested): readonly Edit[] {
  if (!server) return [];
  const path: KeyPath = ["models", "providers", ref.provider];
  const before = own(models.providers, ref.provider);
  const { baseUrl, api, input } = server;
  const model = { id: ref.id, ...(input && { input: [...input] }) };
  if (!before) return [{ path, value: { baseUrl, ...(api && { api }), models: [model] } }];
  const address: readonly Edit[] = [
    { path: [...path, "baseUrl"], value: baseUrl },
    ...(api ? [{ path: [...path, "api"], value: api }] : []),
  ];
  const { models: known } = before;
  if (known?.some(({ id }) => id === ref.id)) return address;
  const added = known
    ? { path: [...path, "models", known.length], value: model }
    : { path: [...path, "models"], value: [model] };
  return [...address, added];
}

/** The place of the model: that of the agent, if it was named or names one of its own, else that of all agents. */
function routeEdits({ config, agents }: ConnectScene, { agent, ref, use = "first" }: Tested): readonly Edit[] {
  if (use === "none") return [];
  const id = agent ?? agents[0]?.id;
  const entry = config.agents.list.find((one) => one.id === id);
  const isOwn = entry !== undefined && (agent !== undefined || entry.model !== undefined);
  const path: KeyPath = isOwn ? [...pathOfAgent(config.agents, entry.id), "model"] : ["agents", "defaults", "model"];
  const choice = isOwn ? entry.model : config.agents.defaults.model;
  const value = modelName(ref);
  if (use === "first") return [{ path: typeof choice === "string" ? path : [...path, "primary"], value }];
  // A model as text cannot have fallbacks, so it becomes an object.
  if (typeof choice === "string") return [{ path, value: { primary: choice, fallbacks: [value] } }];
  const { fallbacks = [] } = choice ?? {};
  return fallbacks.includes(value) ? [] : [{ path: [...path, "fallbacks"], value: [...fallbacks, value] }];
}
