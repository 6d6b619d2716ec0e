import { z } from "zod";
import { Credentials } from "../../../providers/auth/credentials.ts";
import { ownCredentialsOf } from "../../../providers/auth/own-credentials.ts";
import { setupAnswers } from "../../../types/answers/setup.ts";
import { asRefusal, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { modelName } from "../../../types/run/model.ts";
import type { FailureKind } from "../../../types/run/run.ts";
import { Secret } from "../../../types/secret.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";
import { own } from "../../../utils/own.ts";
import { readModelRef } from "../../config/settings.ts";
import { connectModel, testModel, type ConnectScene, type ModelWish } from "../../onboard/connect-model.ts";
import {
  CUSTOM_CHOICE,
  customProvider,
  detectChoices,
  KEYED_CHOICES,
  keyedChoice,
  type DetectedChoice,
} from "../../onboard/model-choices.ts";
import type { SetupRefusal } from "../../onboard/refusals.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import { importMethods } from "../import/import-methods.ts";
import { type MovingIn, NOTHING_LEFT } from "../import/moving-in.ts";
import { reloadConfig } from "../lifecycle/reload.ts";
import type { Parts } from "../parts/parts.ts";
import { agentCalled } from "../parts/agent-called.ts";

const name = z.string().min(1).max(200);
const agent = z.looseObject({ agentId: name.optional() });
const activation = agent.extend({
  kind: z.string().regex(/^(?:api-key|existing-model|(?:openai|anthropic)-api-key|provider-auto:.+)$/),
  modelRef: name.optional(),
  authChoice: name.optional(),
  apiKey: z.string().max(8192).optional(),
  /** The address of a server that the gateway does not know, for the choice `custom-api-key`. */
  baseUrl: z.string().max(2000).optional(),
  api: z.enum(["openai-completions", "openai-responses", "anthropic-messages"]).default("openai-completions"),
  use: z.enum(["first", "fallback", "none"]).default("first"),
  /** The name of a typed key beside others of its provider; it replaces the usual one when unset. */
  keyName: z.string().max(60).optional(),
});
type Activation = z.output<typeof activation>;

/** The protocol's methods that take over what OpenClaw has left, and those that connect a model: a completion is made with it, and only when it answers are key and model saved. */
export function setupMethods(parts: Parts, movingIn: MovingIn = NOTHING_LEFT): readonly Method[] {
  const acts = new KeyedQueue();
  return [
    ...importMethods({
      movingIn,
      paths: parts.live.paths,
      log: parts.log,
      restart: () => parts.core.ports.program.desks.get("restart"),
    }),
    defineMethod({
      name: "openclaw.setup.detect",
      scope: "operator.admin",
      params: agent,
      result: setupAnswers.detect,
      run: ({ agentId }) => detect(parts, agentId),
    }),
    defineMethod({
      name: "openclaw.setup.activate",
      scope: "operator.admin",
      mayWait: true,
      params: activation,
      result: setupAnswers.activate,
      run: (asked) => acts.run("setup", () => activate(parts, asked)),
    }),
    defineMethod({
      name: "openclaw.setup.verify",
      scope: "operator.admin",
      mayWait: true,
      params: agent,
      result: setupAnswers.verify,
      run: ({ agentId }) => verify(parts, agentId),
    }),
  ];
}

async function detect(parts: Parts, agentId: string | undefined) {
  const asked = agentCalled(agentId, parts);
  const model = asked.model.primary ?? (await parts.core.models.of(asked.id).choose());
  const isReal = model.provider !== "demo";
  const found = await detectChoices(process.env);
  const existing = { label: modelName(model), detail: "the model of the config", kind: "existing-model" };
  return {
    candidates: [
      ...(isReal ? [{ ...existing, modelRef: modelName(model), recommended: true }] : []),
      ...found.map((choice, at) => ({ ...shownChoice(choice), recommended: !isReal && at === 0 })),
    ],
    manualProviders: [
      ...KEYED_CHOICES.map(({ authChoice, label, keysAt, keyStarts, provider, model: id }) => ({
        id: authChoice,
        label,
        website: keysAt,
        keyStarts,
        provider,
        modelRef: modelName({ provider, id }),
      })),
      { id: CUSTOM_CHOICE, label: "Another server" },
    ],
    workspace: asked.workspace,
    ...(isReal && { configuredModel: modelName(model) }),
    setupComplete: isReal,
  };
}

function shownChoice({ provider, label, model, variable, server }: DetectedChoice) {
  const isNamed = provider === "openai" || provider === "anthropic";
  return {
    kind: isNamed ? `${provider}-api-key` : `provider-auto:${provider}`,
    label,
    detail: server ? `runs at ${new URL(server.baseUrl).host}` : `key in ${variable ?? ""}`,
    modelRef: modelName({ provider, id: model }),
    ...(server && { modelRefs: server.models.map((id) => modelName({ provider, id })) }),
  };
}

async function activate(parts: Parts, asked: Activation) {
  const wish = await wishOf(parts, asked);
  const scene = await sceneOf(parts);
  const result = await connectModel(scene, wish).catch((error: unknown) => {
    throw asRefusal(error);
  });
  const { log, live } = parts;
  const of = { provider: wish.provider };
  if (!result.ok) {
    log.info("a model did not answer, nothing was saved", { ...of, reason: result.reason });
    return refused(result);
  }
  log.info("a model answered and is saved", { ...of, model: result.model });
  const { mode } = live.started.gateway.reload;
  const isLive = mode !== "off" && mode !== "restart";
  if (isLive) await reloadConfig(parts);
  return {
    ok: true,
    status: "ok" as const,
    modelRef: result.model,
    latencyMs: result.latencyMs,
    lines: [`${result.model} answered.`],
    ...(!isLive && { gatewayRestartRequired: true as const }),
  };
}

async function verify(parts: Parts, agentId: string | undefined) {
  const { id, model } = agentCalled(agentId, parts);
  const ref = model.primary ?? (await parts.core.models.of(id).choose());
  const tested = await testModel(await sceneOf(parts), { provider: ref.provider, model: ref.id, agent: id });
  if (tested.ok) return { ok: true, modelRef: tested.model, latencyMs: tested.latencyMs };
  const { status, error } = refused(tested);
  return { ok: false, status, error };
}

async function sceneOf({ live }: Parts): Promise<ConnectScene> {
  const { contributions, paths, config, agents, reserve } = live;
  const load = await loadOptionsFor(contributions, paths);
  const { modelProviders: contributed } = contributions;
  return { paths, load, config, agents, env: process.env, contributed, meter: { reserve } };
}

/** Throws INVALID_REQUEST for a choice that does not exist, and for one that lacks its key or address. */
async function wishOf(parts: Parts, asked: Activation): Promise<ModelWish> {
  const { kind, modelRef, agentId, use } = asked;
  const of = { use, ...(agentId !== undefined && { agent: agentCalled(agentId, parts).id }) };
  if (kind === "api-key") {
    const wish = typedWish(asked);
    return { ...wish, ...(await nameOfKey(parts, asked, wish)), ...of };
  }
  if (kind === "existing-model") {
    const { id, model } = agentCalled(agentId, parts);
    const ref = modelRef === undefined ? model.primary : readModelRef(modelRef);
    const { provider, id: chosen } = ref ?? (await parts.core.models.of(id).choose());
    return { provider, model: chosen, ...of };
  }
  const provider = kind.startsWith("provider-auto:") ? kind.slice(14) : kind.replace(/-api-key$/, "");
  const found = (await detectChoices(process.env)).find((choice) => choice.provider === provider);
  if (!found) throw new MethodError("NOT_FOUND", `Nothing of ${provider} was found: neither a key nor a server.`);
  const model = modelOf(modelRef, provider) ?? found.model;
  const server = found.server && { baseUrl: found.server.baseUrl, api: "openai-completions" as const };
  return { provider, model, ...(server && { server }), ...of };
}

function typedWish({ authChoice = "", apiKey = "", modelRef, baseUrl, api }: Activation): ModelWish {
  const key = apiKey.trim();
  if (/\s/.test(key)) throw refusedField("A key has no spaces in it: paste it once more.", "apiKey");
  const stored = key === "" ? {} : { key: new Secret(key) };
  if (authChoice === CUSTOM_CHOICE) {
    const address = (baseUrl ?? "").trim().replace(/\/+$/, "");
    if (!/^https?:\/\/\S/.test(address) || !URL.canParse(address))
      throw refusedField("Type the address of the server, such as http://127.0.0.1:8000/v1.", "baseUrl");
    const provider = customProvider(address);
    return { provider, model: modelOf(modelRef, provider) ?? "", server: { baseUrl: address, api }, ...stored };
  }
  const choice = keyedChoice(authChoice);
  if (!choice) throw refusedField("Choose a provider.", "authChoice");
  if (key === "") throw refusedField(`Type the key of ${choice.label}.`, "apiKey");
  return { provider: choice.provider, model: modelOf(modelRef, choice.provider) ?? choice.model, ...stored };
}

/** The names of keys that are not stored. */
const RESERVED = /^(?:config|env|none|plugin)$/;

/** The place of a typed key that the person has named. Throws INVALID_REQUEST for a name that cannot be one, or is that of a login. */
async function nameOfKey(
  { live }: Pick<Parts, "live">,
  { keyName = "", agentId }: Activation,
  { provider, key }: ModelWish,
): Promise<Pick<ModelWish, "keep">> {
  const called = keyName.trim();
  if (called === "" || key === undefined) return {};
  if (!/^[\w.@+-]+$/.test(called) || RESERVED.test(called))
    throw refusedField("Name the key in one word of letters, digits, dots and hyphens, such as work.", "keyName");
  const profileId = `${provider}:${called}`;
  const own = ownCredentialsOf(live.agents)(agentId ?? live.defaultAgent.id);
  for (const store of [new Credentials(live.paths.credentials), ...(own ? [own] : [])]) {
    const stored = (await store.read()).profiles.get(profileId);
    if (stored !== undefined && stored.type !== "api_key")
      throw refusedField(`${profileId} is a login already: choose another name.`, "keyName");
  }
  return { keep: { as: "key", profileId } };
}

/** `provider/model` or the id alone, which may contain slashes. */
function modelOf(modelRef: string | undefined, provider: string): string | undefined {
  const text = modelRef?.trim() ?? "";
  if (text === "") return undefined;
  return text.startsWith(`${provider}/`) ? text.slice(provider.length + 1) : text;
}

const refusedField = (message: string, field: string): MethodError =>
  new MethodError("INVALID_REQUEST", message, { details: { code: "SETUP_FIELD", field } });

type Status = "auth" | "rate_limit" | "billing" | "timeout" | "format" | "unavailable" | "unknown";

/** The protocol's words for failures; the others are `unknown`. */
const STATUS: Readonly<Partial<Record<FailureKind, Status>>> = {
  auth: "auth",
  billing: "billing",
  rate_limit: "rate_limit",
  overloaded: "rate_limit",
  timeout: "timeout",
  format: "format",
  model_missing: "unavailable",
  network: "unavailable",
  loading: "unavailable",
};

function refused({ reason, message, mend, said, models }: SetupRefusal) {
  const status: Status = own(STATUS, reason) ?? "unknown";
  return { ok: false, status, error: message, mend, said, ...(models && { models: [...models] }) };
}
