import { z } from "zod";
import { Credentials, NO_KEYS, type StoredKeys } from "../../../providers/auth/credentials.ts";
import { ownCredentialsOf } from "../../../providers/auth/own-credentials.ts";
import { reportProfiles, type ProfileReport } from "../../../providers/auth/report.ts";
import { probeAll } from "../../../providers/probe.ts";
import { keyAnswers, type KeyStatus, type ProbeStatus } from "../../../types/answers/keys.ts";
import { OpenClawError, withFix } from "../../../types/errors.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import type { ModelRef } from "../../../types/run/model.ts";
import type { FailureKind } from "../../../types/run/run.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { agentCalled } from "../parts/agent-called.ts";
import type { Parts } from "../parts/parts.ts";

type KeyParts = Pick<Parts, "live" | "core">;

const name = z.string().min(1).max(200);
const PROBE_MS = 30_000;
const PROBE_TOKENS = 16;
const PROBES_AT_ONCE = 4;

/** The methods that show the keys of models, try them and remove them. */
export const keyMethods = (parts: KeyParts): readonly Method[] => [
  defineMethod({
    name: "models.authStatus",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: keyAnswers.status,
    run: ({ agentId }) => statusOf(agentCalled(agentId, parts), parts),
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
    result: keyAnswers.probe,
    run: (asked) => probe(parts, asked),
  }),
  defineMethod({
    name: "models.authLogout",
    scope: "operator.admin",
    params: z.looseObject({ provider: name, profileIds: z.array(name).optional(), agentId: name.optional() }),
    result: keyAnswers.logout,
    run: async ({ provider, profileIds, agentId: id }) => {
      const store = storeOf(id === undefined ? undefined : agentCalled(id, parts), parts);
      const removedProfiles = await forget(store, provider, profileIds);
      return { provider, removedProfiles, abortedRunIds: [] };
    },
  }),
];

/** The stored keys that all agents share, or those of an agent that has some of its own. */
function storeOf(agent: AgentSettings | undefined, { live }: Pick<Parts, "live">): Credentials {
  const own = agent && ownCredentialsOf(live.agents)(agent.id);
  return own ?? new Credentials(live.paths.credentials);
}

/** Removes the stored keys of a provider, or the named ones of them; the provider is not informed. */
async function forget(store: Credentials, provider: string, only: readonly string[] | undefined): Promise<string[]> {
  const { profiles } = await store.read();
  const ids = [...profiles].filter(([id, key]) => key.provider === provider && only?.includes(id) !== false);
  const gone: string[] = [];
  for (const [id] of ids) if (await store.remove(id)) gone.push(id);
  return gone;
}

/** One model of each provider of the agent: those in use, those of the config, and those that have a key. */
async function refsOf(agent: AgentSettings, { live, core }: KeyParts): Promise<readonly ModelRef[]> {
  const used = [...(agent.model.primary ? [agent.model.primary] : []), ...agent.model.fallbacks];
  const described = Object.entries(live.config.models.providers).map(([provider, { models }]) => ({
    provider,
    id: models?.[0]?.id ?? "model",
  }));
  const usable = (await core.models.of(agent.id).list("usable")).filter(({ demo }) => demo !== true);
  const all = [...used, ...described, ...usable];
  return [...new Map(all.toReversed().map(({ provider, id }) => [provider, { provider, id }])).values()].toReversed();
}

/** A file of keys as it was read, and why it could not be. */
interface ReadStore {
  readonly keys: StoredKeys;
  readonly problem?: string;
}

async function readStore(store: Credentials): Promise<ReadStore> {
  try {
    return { keys: await store.read() };
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    return { keys: NO_KEYS, problem: withFix(error) };
  }
}

interface Stores {
  readonly shared: ReadStore;
  /** The keys that only this agent uses, which come first. */
  readonly own: ReadStore;
}

async function statusOf(agent: AgentSettings, parts: KeyParts) {
  const { live, core } = parts;
  const own = ownCredentialsOf(live.agents)(agent.id);
  const stores = {
    shared: await readStore(new Credentials(live.paths.credentials)),
    own: own === undefined ? { keys: NO_KEYS } : await readStore(own),
  };
  const refs = await refsOf(agent, parts);
  const stored = [stores.own, stores.shared].flatMap(({ keys }) => [...keys.profiles.values()]);
  const others = [...new Set(stored.map(({ provider }) => provider))]
    .filter((provider) => refs.every((ref) => ref.provider !== provider))
    .map((provider) => ({ provider, id: "model" }));
  const now = core.ports.clock.now();
  const facts = { agent, stores, parts, now };
  const problems = [stores.own, stores.shared].flatMap(({ problem }) => problem ?? []);
  return {
    ts: now,
    providers: await Promise.all([...refs, ...others].map((ref) => providerOf(ref, facts))),
    ...(problems.length > 0 && { problems }),
  };
}

interface Facts {
  readonly agent: AgentSettings;
  readonly stores: Stores;
  readonly parts: KeyParts;
  readonly now: number;
}

/** The worst of those that are asked; those that are not asked only count where there is no other. */
const SEVERITY: readonly KeyStatus[] = ["expiring", "ok", "static", "expired", "missing"];

async function providerOf(ref: ModelRef, { agent, stores, parts: { live, core }, now }: Facts) {
  const { provider } = ref;
  const usable = await core.models.of(agent.id).profiles(ref);
  const profiles = new Map([...stores.shared.keys.profiles, ...stores.own.keys.profiles]);
  const stored = { ...stores.shared.keys, profiles };
  const about = { stored, auth: live.config.auth, rests: core.models.cooldowns, now };
  const keys = reportProfiles(provider, usable, about).map((report) => ({
    profileId: report.id,
    type: report.mode,
    status: statusWord(report),
    source: sourceOf(report.id, stores),
    ...ownerOf(report),
    ...(report.note !== undefined && { note: report.note }),
    ...(report.expiresAt !== undefined && {
      expiry: { at: report.expiresAt, remainingMs: report.expiresAt - now },
    }),
    ...(report.rests.length > 0 && { cooldowns: report.rests.map((rest) => ({ ...rest })) }),
  }));
  const worst = SEVERITY.find((status) => keys.some((key) => key.status === status)) ?? "missing";
  return { provider, authProvider: provider, displayName: provider, status: worst, profiles: keys };
}

/** The protocol's word: a key that cannot be used is `missing`, and one that does not end by itself `static`. */
function statusWord({ mode, status }: ProfileReport): KeyStatus {
  if (status === "expired") return "expired";
  if (status === "unusable") return "missing";
  if (mode !== "token" && mode !== "oauth") return "static";
  return status;
}

const UNSTORED = ["config", "env", "plugin", "none"] as const;

function sourceOf(id: string, { own, shared }: Stores) {
  if (own.keys.profiles.has(id)) return "agent" as const;
  if (shared.keys.profiles.has(id)) return "stored" as const;
  return UNSTORED.find((source) => id.endsWith(`:${source}`)) ?? "config";
}

function ownerOf({ displayName, email }: ProfileReport): { readonly owner?: string } {
  const owner = displayName ?? email;
  return owner === undefined ? {} : { owner };
}

/** The protocol's words for failures; the others are `unknown`. */
const PROBE_STATUS: Readonly<Partial<Record<FailureKind | "ok", ProbeStatus>>> = {
  ok: "ok",
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

/** Makes a small call with each key of a provider. A key that answers cools down no more at the model that was asked. */
async function probe(parts: KeyParts, { provider, profileId, timeoutMs, agentId: id }: ProbeAsk) {
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
  const results = (await probeAll(models, targets, limits)).map((probed) => {
    const { profileId: key, model, status, latencyMs, error } = probed;
    if (status === "ok") models.keys.succeeded(ref, key);
    const word = PROBE_STATUS[status] ?? "unknown";
    return {
      profileId: key,
      label: `${key} · ${model}`,
      status: word,
      latencyMs,
      ...(error !== undefined && { error }),
    };
  });
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
