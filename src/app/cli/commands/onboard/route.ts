import { Credentials } from "../../../../providers/auth/credentials.ts";
import type { Credential } from "../../../../providers/auth/credential.ts";
import { createModels } from "../../../../providers/catalog.ts";
import { probeAll, type ModelProbe } from "../../../../providers/probe.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { modelName, type ModelRef } from "../../../../types/run/model.ts";
import type { ModelSettings, ProviderSettings } from "../../../../types/run/model-provider.ts";
import { Secret } from "../../../../types/secret.ts";
import { own } from "../../../../utils/own.ts";
import type { Edit } from "../../../agents/agent-file.ts";
import { applyEnv } from "../../../config/env-vars.ts";
import { listedAgents } from "../../../config/keys/agent-key.ts";
import { isRecord, valueAt, type KeyPath } from "../../../config/schema/problem.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { loadModelProviders } from "../../plugin-command.ts";
import { keepFile, mainAgent, writeEdits, type SetupScene } from "./scene.ts";

/** A model with all that a call of it needs. */
export interface Route {
  readonly ref: ModelRef;
  /** A new key, stored among the profiles once it has answered. A key that the gateway finds already is used when unset. */
  readonly key?: { readonly profileId: string; readonly credential: Exclude<Credential, { type: "oauth" }> };
  /** The variable that has the key, to which the config refers. */
  readonly keyVariable?: string;
  /** Settings of the provider that the config needs. */
  readonly server?: {
    readonly baseUrl: string;
    readonly api?: ServerApi;
    readonly input?: readonly ("text" | "image")[];
  };
}

export type ServerApi = "openai-completions" | "openai-responses" | "anthropic-messages";

const LIMITS = { timeoutMs: 60_000, maxTokens: 32, concurrency: 1 };

/** Has the model answer once, and writes nothing. Never rejects for a model that does not answer. */
export async function tryRoute(scene: SetupScene, route: Route): Promise<ModelProbe> {
  const { io, state } = scene;
  const { config, paths } = state;
  const env = { ...io.env };
  applyEnv(config, env);
  await loadModelProviders(io);
  const { ref } = route;
  const secret = secretOf(route, env);
  const before = own(config.models.providers, ref.provider);
  const provider = { ...before, ...serverSettings(route, before), ...(secret && { apiKey: secret }) };
  const models = createModels(
    {
      ...config.models,
      providers: { ...config.models.providers, [ref.provider]: provider },
      env,
      auth: config.auth,
      // A new key is tried alone: another one could answer in its place.
      ...(!secret && { credentials: new Credentials(paths.credentials) }),
    },
    { contributed: io.contributions.modelProviders },
  );
  const [found] = await models.profiles(ref);
  const profile = secret ? `${ref.provider}:config` : (found?.profile.id ?? `${ref.provider}:none`);
  const [probe] = await probeAll(models, [{ ref, profile }], LIMITS);
  if (!probe) throw new Error("a probe without an answer");
  return probe;
}

function secretOf({ key, keyVariable }: Route, env: SetupScene["io"]["env"]): Secret | undefined {
  if (keyVariable !== undefined) return new Secret(env[keyVariable] ?? "");
  if (!key) return undefined;
  return key.credential.type === "api_key" ? key.credential.key : key.credential.token;
}

/** `before` with the server's address and its model. */
function serverSettings({ ref, server }: Route, before: ProviderSettings | undefined): Partial<ProviderSettings> {
  if (!server) return {};
  const { baseUrl, api, input } = server;
  const known = before?.models ?? [];
  const mine: ModelSettings = { id: ref.id, ...(input && { input: [...input] }) };
  return {
    baseUrl,
    ...(api && { api }),
    models: known.some(({ id }) => id === ref.id) ? known : [...known, mine],
  };
}

/** Why a model did not answer, as an error for the operator. */
export function silentModel({ model, status, error = "It gave no reason." }: ModelProbe): OpenClawError {
  const isKey = status === "auth" || status === "billing";
  return new OpenClawError("MODEL_SILENT", {
    message: `${model} did not answer (${status.replaceAll("_", " ")}), so nothing was written: ${withoutTerminalControls(error)}`,
    fix: isKey
      ? "Give a key that the provider takes, or set up without a model: --auth-choice skip."
      : "Check the model's name, the address and the network, or set up without a model: --auth-choice skip.",
  });
}

/** Edits that make the route the one of the default agent. */
export function routeEdits(scene: SetupScene, { ref, keyVariable, server }: Route): readonly Edit[] {
  const { file } = scene;
  const path = choicePath(scene);
  const place = isRecord(valueAt(file, path)) ? [...path, "primary"] : path;
  const base: KeyPath = ["models", "providers", ref.provider];
  const known: unknown = valueAt(file, [...base, "models"]);
  const rows: readonly unknown[] = Array.isArray(known) ? known : [];
  const isKnown = rows.some((row) => valueAt(row, ["id"]) === ref.id);
  const entry = { id: ref.id, ...(server?.input && { input: [...server.input] }) };
  return [
    ...(server ? [{ path: [...base, "baseUrl"], value: server.baseUrl }] : []),
    ...(server?.api ? [{ path: [...base, "api"], value: server.api }] : []),
    ...(server && !isKnown ? [{ path: [...base, "models", rows.length], value: entry }] : []),
    ...(keyVariable === undefined
      ? []
      : [{ path: [...base, "apiKey"], value: { source: "env", provider: "default", id: keyVariable } }]),
    { path: place, value: modelName(ref) },
  ];
}

/** The key that names the default agent's model: its own, if it has one. */
function choicePath(scene: SetupScene): KeyPath {
  const { id } = mainAgent(scene);
  const entry = listedAgents(scene.file).find((one) => one.id === id);
  const ofAgent = entry && valueAt(entry.entry, ["model"]) !== undefined;
  return ofAgent ? [...entry.path, "model"] : ["agents", "defaults", "model"];
}

/** Stores the key and writes the edits; when one of both fails, the files stay as they were. */
export async function saveRoute(scene: SetupScene, route: Route | undefined, edits: readonly Edit[]): Promise<void> {
  const credentials = new Credentials(scene.state.paths.credentials);
  const restore = route?.key ? await keepFile(credentials.path) : async () => undefined;
  try {
    if (route?.key) await credentials.put(route.key.profileId, route.key.credential);
    await writeEdits(scene, edits);
  } catch (error) {
    await restore();
    throw error;
  }
}
