import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { createModels, type Models } from "../../providers/catalog.ts";
import { NO_ANSWER_IN_TIME, LISTING, scanServer, type Scanned, UNREACHED } from "../../providers/scan.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import { nearest } from "../config/keys/nearest.ts";
import type { Config } from "../config/schema/schema.ts";
import { resolveAgents } from "../config/settings.ts";
import { budgetsCheck, type ModelCheckOptions } from "./budgets-check.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

/** The directories of the agents; none when the agents' settings are wrong, which another check reports. */
export function ownDirsOf(
  config: Config,
  { stateDir }: { readonly stateDir: string },
  home: string,
): readonly string[] {
  try {
    return resolveAgents(config, { home, stateDir }).flatMap(({ agentDir }) => agentDir ?? []);
  } catch {
    return [];
  }
}

/** The checks that need models. */
export const modelChecks = (config: Config, options: ModelCheckOptions): readonly Check[] => [
  modelCheck(config, options),
  budgetsCheck(config, options),
];

/**
 * Whether the models of each agent have a provider and a key, and their servers answer, know the models and take the
 * key.
 */
function modelCheck(config: Config, options: ModelCheckOptions): Check {
  return {
    id: "model",
    title: "Model",
    timeoutMs: PLUGINS_MS,
    async run(signal) {
      const { env, credentials, stateDir } = options;
      const contributed = await options.contributed();
      const agents = resolveAgents(config, { home: env["HOME"] ?? "", stateDir });
      const keys = { env, auth: config.auth, credentials, ownCredentials: ownCredentialsOf(agents) };
      const all = createModels({ ...config.models, ...keys }, { contributed });
      const ofAgents = agents.map(async ({ id, model }) => {
        const models = all.of(id);
        const primary = model.primary ?? (await models.choose());
        const [first, ...others] = await Promise.all(
          [primary, ...model.fallbacks].map((ref) => judge(models, { ref, agent: id }, signal)),
        );
        return [...(first ? [first] : []), ...others.filter(({ status }) => status !== "ok")];
      });
      return (await Promise.all(ofAgents)).flat();
    },
  };
}

async function judge(
  models: Models,
  { ref, agent }: { readonly ref: ModelRef; readonly agent: string },
  signal: AbortSignal,
): Promise<CheckResult> {
  const name = `${agent}: ${modelName(ref)}`;
  const found = await models.find(ref);
  if ("missing" in found) return { status: "fail", message: name, fix: found.missing };
  if (found.info.demo)
    return {
      status: "warn",
      message: `${name} is the built-in demo`,
      fix: "Set a key such as ANTHROPIC_API_KEY, or models.providers.",
    };
  const { api, baseUrl } = found.pi;
  // The list of models costs nothing, and needs the key where calls do. A login is no such key.
  if (LISTING.has(api) && found.profile.mode === "api_key")
    return listed(name, found.pi.id, await scanServer({ ...ref, baseUrl, api, apiKey: found.apiKey }, LIST_MS));
  return (await reaches(baseUrl, signal)) ? { status: "ok", message: name } : silent(name, baseUrl);
}

/** Milliseconds in which a server has to list its models. */
const LIST_MS = 10_000;

function listed(name: string, id: string, { baseUrl, models, problem }: Scanned): CheckResult {
  if (problem === UNREACHED || problem === NO_ANSWER_IN_TIME) return silent(name, baseUrl);
  if (problem === "HTTP 401")
    return {
      status: "fail",
      message: `${name}: ${new URL(baseUrl).host} refuses the key (${problem})`,
      fix: "Correct the key (openclaw models auth, models.providers.*.apiKey or the variable), then: openclaw models status --probe",
    };
  if (models.length === 0 || models.some((model) => model.id === id)) return { status: "ok", message: name };
  const near = nearest(
    id,
    models.map((model) => model.id),
  );
  return {
    status: "warn",
    message: `${name}: ${new URL(baseUrl).host} does not list this model`,
    fix:
      near === undefined
        ? "See openclaw models scan, or ask it: openclaw models status --probe"
        : `Did you mean ${near}?`,
  };
}

const silent = (name: string, baseUrl: string): CheckResult => ({
  status: "warn",
  message: `${name}: ${new URL(baseUrl).host} does not answer`,
  fix: "Check the network of this machine, or models.providers.*.baseUrl.",
});

/** Whether a server answers at all: a model server that answers 404 at its root is running. */
async function reaches(baseUrl: string, signal: AbortSignal): Promise<boolean> {
  return fetch(baseUrl, { method: "HEAD", signal }).then(
    () => true,
    () => false,
  );
}
