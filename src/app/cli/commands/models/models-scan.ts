import { envKey } from "../../../../providers/keys.ts";
import { LOCAL_SERVERS } from "../../../../providers/local.ts";
import { LISTING, scanServer, type Scanned, type ScanTarget } from "../../../../providers/scan.ts";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { table } from "../../table.ts";
import { openModelState, type ModelState } from "./models-state.ts";

export interface ScanFlags {
  readonly json?: boolean;
  /** Whether to list only models that are free according to their server. */
  readonly free?: boolean;
  readonly provider?: string;
  readonly timeout: number;
}

const OPENROUTER = { provider: "openrouter", baseUrl: "https://openrouter.ai/api/v1" };

/** Asks the servers of the config, those on this machine and OpenRouter for their models. 1 when none answered. */
export async function modelsScan(io: Io, flags: ScanFlags): Promise<number> {
  const targets = await targetsOf(await openModelState(io), io, flags);
  const scans = targets.map((target) => scanServer(target, flags.timeout));
  const found = (await withProgress(io, "Asking", Promise.all(scans))).map((one) => sifted(one, flags));
  // Most of the usual ports of this machine have no server, so only a configured server is reported as a failure.
  const usual = new Set(targets.filter(({ isUsual }) => isUsual).map(({ baseUrl }) => baseUrl));
  const shown = found.filter((one) => one.problem === undefined || !usual.has(one.baseUrl));
  if (flags.json === true) writeJson(io, { servers: shown });
  else show(io, shown);
  return shown.some((one) => one.problem === undefined) ? 0 : 1;
}

const sifted = (scanned: Scanned, { free }: ScanFlags): Scanned =>
  free === true ? { ...scanned, models: scanned.models.filter((model) => model.isFree === true) } : scanned;

function show(io: Io, servers: readonly Scanned[]): void {
  const rows = servers.flatMap(({ provider, models }) =>
    models.map(({ id, name = "", contextWindow, isFree }) => [
      `${provider}/${id}`,
      name,
      contextWindow === undefined ? "" : `${Math.round(contextWindow / 1000)}k`,
      isFree === true ? "free" : "",
    ]),
  );
  io.out(rows.length === 0 ? "No model.\n" : table(io, ["MODEL", "NAME", "CONTEXT", ""], rows));
  for (const { provider, baseUrl, problem } of servers)
    if (problem !== undefined) io.err(`${provider} at ${baseUrl}: ${problem}\n`);
}

type Target = ScanTarget & { readonly isUsual: boolean };

async function targetsOf(modelState: ModelState, io: Io, { provider }: ScanFlags): Promise<readonly Target[]> {
  const configured = await Promise.all(
    Object.entries(modelState.state.config.models.providers)
      .filter(([, { baseUrl, api }]) => baseUrl !== undefined && LISTING.has(api ?? "openai-completions"))
      .map(async ([name, { baseUrl = "", api, models }]) => {
        const apiKey = await keyFor(modelState, { provider: name, id: models?.[0]?.id ?? "model" });
        return { provider: name, baseUrl, api, apiKey, isUsual: false };
      }),
  );
  const names = new Set(configured.map((target) => target.provider));
  const usual = LOCAL_SERVERS.filter((server) => !names.has(server.provider));
  const key = await keyFor(modelState, { provider: OPENROUTER.provider, id: "openrouter/auto" });
  const asked = provider === OPENROUTER.provider || key !== undefined || envKey("openrouter", io.env) !== undefined;
  const all = [
    ...configured,
    ...usual.map((server) => ({ ...server, isUsual: provider === undefined })),
    ...(asked && !names.has(OPENROUTER.provider) ? [{ ...OPENROUTER, apiKey: key, isUsual: false }] : []),
  ];
  return all.filter((target) => provider === undefined || target.provider === provider);
}

/** Many servers list their models without a key, so they are asked without one too. */
async function keyFor({ models }: ModelState, ref: { provider: string; id: string }): Promise<string | undefined> {
  const found = await models.find(ref);
  return "missing" in found || found.profile.mode === "none" ? undefined : found.apiKey;
}
