import { z } from "zod";
import { Credentials } from "../../../providers/auth/credentials.ts";
import { ownCredentialsOf } from "../../../providers/auth/own-credentials.ts";
import { probeAll } from "../../../providers/probe.ts";
import type { AgentId } from "../../../types/ids.ts";
import type { AuthProfile } from "../../../types/auth.ts";
import { keyAnswers, type KeyStatus } from "../../../types/answers/keys.ts";
import { modelsAnswer } from "../../../types/gateway-status.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { modelName, THINK_LEVELS, type ModelInfo, type ModelRef } from "../../../types/run/model.ts";
import type { FailureKind } from "../../../types/run/run.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { own } from "../../../utils/own.ts";
import { agentCalled } from "./agent-called.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1).max(200);
const PROBE_MS = 30_000;
const PROBE_TOKENS = 16;
const PROBES_AT_ONCE = 4;

/** The methods that show models and their keys, and try keys. */
export const modelMethods = (parts: Pick<Parts, "live" | "core">): readonly Method[] => [
  defineMethod({
    name: "models.list",
    scope: "operator.read",
    params: z.looseObject({
      agentId: name.optional(),
      provider: name.optional(),
      /** `configured`, `provider-config`: only models of providers that the config describes. */
      view: z.enum(["default", "configured", "provider-config", "all"]).default("default"),
    }),
    result: modelsAnswer,
    run: async (asked) => ({ models: await shownModels(asked, parts) }),
  }),
  defineMethod({
    name: "models.authStatus",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: keyAnswers.status,
    run: async ({ agentId: id }) => {
      const agent = agentCalled(id, parts);
      const refs = await refsOf(agent, parts);
      const now = parts.core.ports.clock.now();
      return { ts: now, providers: await Promise.all(refs.map((ref) => keysOf(ref, agent.id, parts, now))) };
    },
  }),
  defineMethod({
    name: "models.probe",
    scope: "operator.admin",
    mayWait: true,
    params: z.looseObject({
      provider: name,
      profileId: name.optional(),
      timeoutMs: z.int().min(1).max(120_000).default(PROBE_MS),
      agentId: name.optional(),
    }),
    result: probeAnswer,
    run: (asked) => probe(parts, asked),
  }),
  defineMethod({
    name: "models.authLogout",
    scope: "operator.admin",
    params: z.looseObject({ provider: name, profileIds: z.array(name).optional(), agentId: name.optional() }),
    result: z.looseObject({
      provider: z.string(),
      removedProfiles: z.array(z.string()),
      abortedRunIds: z.array(z.string()),
    }),
    run: async ({ provider, profileIds, agentId: id }) => {
      const stores = storesOf(id === undefined ? undefined : agentCalled(id, parts), parts);
      const removed = await Promise.all(stores.map((store) => forget(store, provider, profileIds)));
      return { provider, removedProfiles: [...new Set(removed.flat())], abortedRunIds: [] };
    },
  }),
];

/** The stored keys that all agents share, and those of an agent. */
function storesOf(agent: AgentSettings | undefined, { live }: Pick<Parts, "live">): readonly Credentials[] {
  const own = agent === undefined ? undefined : ownCredentialsOf(live.agents)(agent.id);
  return own === undefined ? [new Credentials(live.paths.credentials)] : [own];
}

/** Removes the stored keys of a provider, or the named ones of them; the provider is not informed. */
async function forget(store: Credentials, provider: string, only: readonly string[] | undefined): Promise<string[]> {
  const { profiles } = await store.read();
  const ids = [...profiles].filter(([id, key]) => key.provider === provider && only?.includes(id) !== false);
  const gone: string[] = [];
  for (const [id] of ids) if (await store.remove(id)) gone.push(id);
  return gone;
}

interface ModelsAsked {
  readonly agentId?: string | undefined;
  readonly provider?: string | undefined;
  readonly view?: "default" | "configured" | "provider-config" | "all";
}

/** The models of an agent as the protocol has them. */
export async function shownModels(
  { agentId: id, provider, view = "default" }: ModelsAsked,
  parts: Pick<Parts, "live" | "core">,
) {
  const agent = agentCalled(id, parts);
  const all = await parts.core.models.of(agent.id).list(view === "all" ? "all" : "usable");
  const described = parts.live.config.models.providers;
  const isInView = (model: ModelInfo) =>
    view === "default" || view === "all" || own(described, model.provider) !== undefined;
  const wanted = all.filter((model) => isInView(model) && (provider === undefined || model.provider === provider));
  const primary = agent.model.primary ?? (await parts.core.models.of(agent.id).choose());
  return wanted.map((model) => shownModel(model, agent, primary));
}

function shownModel(model: ModelInfo & { available: boolean }, agent: AgentSettings, primary: ModelRef) {
  const { id, name: called, provider, contextWindow, reasoning, available, input } = model;
  const ref = modelName(model);
  const [alias] = Object.entries(agent.modelAliases ?? {}).find(([, target]) => target === ref) ?? [];
  const levels = reasoning ? THINK_LEVELS : (["off"] as const);
  return {
    id,
    name: called,
    provider,
    contextWindow,
    reasoning,
    available,
    input: [...input],
    ...(alias !== undefined && { alias }),
    ...(ref === modelName(primary) && { tags: ["default"] }),
    thinkingLevels: levels.map((level) => ({ id: level, label: level })),
    thinkingDefault: reasoning ? agent.thinking : "off",
  };
}

/** One model of each provider of the agent: those in use, those of the config, and those that have a key. */
async function refsOf(
  agent: AgentSettings,
  { live, core }: Pick<Parts, "live" | "core">,
): Promise<readonly ModelRef[]> {
  const used = [...(agent.model.primary ? [agent.model.primary] : []), ...agent.model.fallbacks];
  const described = Object.entries(live.config.models.providers).map(([provider, { models }]) => ({
    provider,
    id: models?.[0]?.id ?? "model",
  }));
  const usable = (await core.models.of(agent.id).list("usable")).filter(({ demo }) => demo !== true);
  const all = [...used, ...described, ...usable];
  return [...new Map(all.toReversed().map(({ provider, id }) => [provider, { provider, id }])).values()].toReversed();
}

/** A token that expires within a day is reported. */
const SOON_MS = 24 * 3_600_000;
/** The worst first. */
const SEVERITY: readonly KeyStatus[] = ["expired", "missing", "expiring", "ok", "static"];

async function keysOf(ref: ModelRef, agent: AgentId, { core }: Pick<Parts, "core">, now: number) {
  const found = await core.models.of(agent).profiles(ref);
  const profiles = found.map(({ profile, expires }) => ({
    profileId: profile.id,
    type: profile.mode,
    status: statusOf(profile, expires, now),
    ...(expires !== undefined && { expiry: { at: expires, remainingMs: expires - now } }),
  }));
  const worst = SEVERITY.find((status) => profiles.some((profile) => profile.status === status));
  const { provider } = ref;
  return { provider, authProvider: provider, displayName: provider, status: worst ?? "missing", profiles };
}

function statusOf({ mode }: AuthProfile, expires: number | undefined, now: number): KeyStatus {
  if (mode !== "token" && mode !== "oauth") return "static";
  // A login is renewed by itself.
  if (mode === "oauth" || expires === undefined || expires - now > SOON_MS) return "ok";
  return expires > now ? "expiring" : "expired";
}

const probeStatus = z.enum(["ok", "auth", "rate_limit", "billing", "timeout", "format", "unknown", "no_model"]);
const probed = { status: probeStatus, latencyMs: z.number().optional(), error: z.string().optional() };
const probeAnswer = z.looseObject({
  provider: z.string(),
  ...probed,
  results: z.array(z.looseObject({ profileId: z.string().optional(), label: z.string(), ...probed })),
});

/** The protocol's words for failures; the others are `unknown`. */
const PROBE_STATUS: Readonly<Partial<Record<FailureKind, z.output<typeof probeStatus>>>> = {
  auth: "auth",
  billing: "billing",
  rate_limit: "rate_limit",
  overloaded: "rate_limit",
  timeout: "timeout",
  format: "format",
  model_missing: "no_model",
};

interface ProbeAsk {
  readonly provider: string;
  readonly profileId?: string | undefined;
  readonly timeoutMs: number;
  readonly agentId?: string | undefined;
}

/** Makes a small call with each key of a provider. */
async function probe(parts: Pick<Parts, "live" | "core">, { provider, profileId, timeoutMs, agentId: id }: ProbeAsk) {
  const agent = agentCalled(id, parts);
  const models = parts.core.models.of(agent.id);
  const ref = (await refsOf(agent, parts)).find((one) => one.provider === provider);
  if (!ref) return { provider, status: "no_model" as const, error: "no model of this provider is known", results: [] };
  const keys = await models.profiles(ref);
  const targets = keys.flatMap(({ profile }) =>
    profileId === undefined || profile.id === profileId ? [{ ref, profile: profile.id }] : [],
  );
  if (targets.length === 0) return { provider, status: "auth" as const, error: "there is no such key", results: [] };
  const limits = { timeoutMs, maxTokens: PROBE_TOKENS, concurrency: PROBES_AT_ONCE };
  const results = (await probeAll(models, targets, limits)).map(
    ({ profileId: key, model, status, latencyMs, error }) => ({
      profileId: key,
      label: `${key} · ${model}`,
      status: status === "ok" ? status : (PROBE_STATUS[status] ?? "unknown"),
      latencyMs,
      ...(error !== undefined && { error }),
    }),
  );
  const best = results.find(({ status }) => status === "ok") ?? results[0];
  const { status = "unknown", latencyMs, error } = best ?? {};
  return {
    provider,
    status,
    ...(latencyMs !== undefined && { latencyMs }),
    ...(error !== undefined && { error }),
    results,
  };
}
