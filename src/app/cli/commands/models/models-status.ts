import { reportProfiles, type ProfileReport } from "../../../../providers/auth/report.ts";
import { KEYED_PROVIDERS, LOGIN_PROVIDERS } from "../../../../providers/keys.ts";
import type { ModelRef } from "../../../../types/run/model.ts";
import { modelName } from "../../../../types/run/model.ts";
import type { AgentSettings } from "../../../../types/settings.ts";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { pairs, table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { probeAll, type ModelProbe, type ProbeLimits } from "../../../../providers/probe.ts";
import { chosenAgent, keysFor, openModelState, type ModelState } from "./models-state.ts";

export interface ModelStatusFlags {
  readonly json?: boolean;
  readonly plain?: boolean;
  /** The exit code is 1 when a key is missing or expired, or a probe failed. */
  readonly check?: boolean;
  readonly probe?: boolean;
  readonly probeProvider?: string;
  readonly probeProfile?: string;
  readonly probeTimeout: number;
  readonly probeConcurrency: number;
  readonly probeMaxTokens: number;
  readonly agent?: string;
}

interface ProviderKeys {
  readonly provider: string;
  /** One of its models: the one that a probe asks, and whose address is shown. */
  readonly ref: ModelRef;
  readonly profiles: readonly ProfileReport[];
}

interface Status {
  readonly agent: AgentSettings;
  readonly primary: ModelRef;
  readonly fallbacks: readonly ModelRef[];
  readonly providers: readonly ProviderKeys[];
  /** Providers of `primary` and `fallbacks` that have no usable key. */
  readonly missing: readonly string[];
  readonly probes: readonly ModelProbe[] | undefined;
}

/** Shows the models, their keys and the state of each key. With `check`, returns 1 when a key is missing or expired, or a probe failed. */
export async function modelsStatus(io: Io, flags: ModelStatusFlags): Promise<number> {
  const models = await openModelState(io, flags.agent);
  const status = await gather(io, models, flags);
  if (flags.json === true) writeJson(io, jsonOf(models, status));
  else if (flags.plain === true) io.out(`${modelName(status.primary)}\n`);
  else io.out(show(io, models, status));
  return flags.check === true && isBad(status) ? 1 : 0;
}

const isBad = ({ missing, providers, probes }: Status): boolean =>
  missing.length > 0 ||
  providers.some(({ profiles }) => profiles.some((profile) => profile.status === "expired")) ||
  (probes?.some((probe) => probe.status !== "ok") ?? false);

async function gather(io: Io, models: ModelState, flags: ModelStatusFlags): Promise<Status> {
  const agent = chosenAgent(models.state, io, flags.agent);
  const primary = agent.model.primary ?? (await withProgress(io, "Looking for models", models.models.choose()));
  const { fallbacks } = agent.model;
  const used = [primary, ...fallbacks];
  const providers = await keysOf(models, used);
  const isKeyless = (name: string) =>
    !providers.some(
      ({ provider, profiles }) =>
        provider === name && profiles.some(({ status }) => status === "ok" || status === "expiring"),
    );
  const missing = [...new Set(used.map(({ provider }) => provider))].filter(isKeyless);
  const probes = flags.probe === true ? await withProgress(io, "Asking", probe(models, providers, flags)) : undefined;
  return { agent, primary, fallbacks, providers, missing, probes };
}

/** Every provider that is used or has a key, with all keys. */
async function keysOf(models: ModelState, used: readonly ModelRef[]): Promise<readonly ProviderKeys[]> {
  const stored = await keysFor(models);
  const { auth } = models.state.config;
  const found = await Promise.all(
    candidates(
      models,
      used,
      [...stored.profiles.values()].map((key) => key.provider),
    ).map(async (ref) => {
      const usable = await models.models.profiles(ref);
      const facts = { stored, auth, rests: models.cooldowns, now: Date.now() };
      return { provider: ref.provider, ref, profiles: reportProfiles(ref.provider, usable, facts) };
    }),
  );
  return found.filter(({ profiles }) => profiles.length > 0);
}

/** One model of each provider: the one in use, else one of the config, else the provider's default. */
function candidates(models: ModelState, used: readonly ModelRef[], stored: readonly string[]): readonly ModelRef[] {
  const configured = Object.entries(models.state.config.models.providers).map(([provider, { models }]) => ({
    provider,
    id: models?.[0]?.id ?? "model",
  }));
  const usual = [...KEYED_PROVIDERS.map(({ provider, model }) => ({ provider, id: model })), ...LOGIN_PROVIDERS];
  const others = stored.map((provider) => ({ provider, id: "model" }));
  const byProvider = new Map<string, ModelRef>();
  for (const ref of [...used, ...configured, ...usual, ...others])
    if (!byProvider.has(ref.provider)) byProvider.set(ref.provider, ref);
  return [...byProvider.values()];
}

function probe(
  models: ModelState,
  providers: readonly ProviderKeys[],
  flags: ModelStatusFlags,
): Promise<readonly ModelProbe[]> {
  const targets = providers.flatMap(({ ref, profiles }) =>
    profiles
      .filter(({ status }) => status === "ok" || status === "expiring")
      .filter(({ provider }) => flags.probeProvider === undefined || provider === flags.probeProvider)
      .filter(({ id }) => flags.probeProfile === undefined || id === flags.probeProfile)
      .map(({ id }) => ({ ref, profile: id })),
  );
  const limits: ProbeLimits = {
    timeoutMs: flags.probeTimeout,
    maxTokens: flags.probeMaxTokens,
    concurrency: flags.probeConcurrency,
  };
  return probeAll(models.models, targets, limits);
}

function jsonOf(models: ModelState, status: Status): object {
  const { agent, primary, fallbacks, providers, missing, probes } = status;
  return {
    configPath: models.state.paths.configPath,
    agentId: agent.id,
    defaultModel: agent.model.primary ? modelName(agent.model.primary) : null,
    resolvedDefault: modelName(primary),
    fallbacks: fallbacks.map(modelName),
    auth: {
      storePath: models.credentials.path,
      missingProvidersInUse: missing,
      providers: providers.map(({ provider, profiles }) => ({ provider, profiles: profiles.map(profileJson) })),
    },
    ...(probes && { probes }),
  };
}

export function profileJson({ id, mode, expiresAt, ...others }: ProfileReport): object {
  const remainingMs = expiresAt === undefined ? {} : { expiresAt, remainingMs: expiresAt - Date.now() };
  return { profileId: id, type: mode, ...others, ...remainingMs };
}

function show(io: Io, models: ModelState, { agent, primary, fallbacks, providers, missing, probes }: Status): string {
  const head = pairs(io, [
    ["Agent", agent.id],
    ["Model", `${modelName(primary)}${agent.model.primary ? "" : " (found out: the config names none)"}`],
    ["Fallbacks", fallbacks.length > 0 ? fallbacks.map(modelName).join(", ") : "none"],
    ["Keys in", models.credentials.path],
    ["No key for", missing.length > 0 ? missing.join(", ") : undefined],
  ]);
  const rows = providers.flatMap(({ profiles }) => profiles.map(profileRow));
  const keys = rows.length > 0 ? `\n${table(io, ["KEY", "KIND", "STATE", "WHOSE"], rows)}` : "\nNo key.\n";
  const asked = (probes ?? []).map(({ profileId, model, status, latencyMs, error = "" }) => [
    profileId,
    model,
    status,
    `${latencyMs} ms`,
    error,
  ]);
  return `${head}${keys}${asked.length > 0 ? `\n${table(io, ["KEY", "ASKED", "ANSWER", "TIME", ""], asked)}` : ""}`;
}

/** The row of a key in the table: its id, kind, state (such as its cooldown) and owner. */
export function profileRow({ id, mode, status, note, rests, expiresAt, email, displayName }: ProfileReport): string[] {
  const [rest] = rests;
  const cooldown =
    rest &&
    `cooldown of ${showDuration(rest.until - Date.now())} at ${rest.model} (${rest.because.replaceAll("_", " ")})`;
  const left = mode === "token" && expiresAt !== undefined && expiresAt > Date.now();
  const ends = left ? `ok for ${showDuration(expiresAt - Date.now())}` : status;
  const state = status === "expired" || status === "unusable" ? `${status}: ${note ?? ""}` : (cooldown ?? ends);
  return [id, mode.replace("_", " "), state, displayName ?? email ?? ""];
}
