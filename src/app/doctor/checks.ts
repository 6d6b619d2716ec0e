import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { channelChecks } from "../../channels/checks.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import { keyChecks } from "../../providers/auth/checks.ts";
import { Credentials } from "../../providers/auth/credentials.ts";
import { checks as sessionChecks } from "../../sessions/checks.ts";
import { checks as storeChecks } from "../../store/checks.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { CheckContribution, CheckScene } from "../../types/contribution.ts";
import { accountsIn } from "../accounts/channel-accounts.ts";
import { loadConfig } from "../config/load.ts";
import { cooldownsPath, journalPath, resolvePaths } from "../config/paths.ts";
import { appChecks } from "./app-checks.ts";
import { foreignCheck, safeModeCheck } from "./machine-checks.ts";
import { selectedEngineChecks } from "./engine-check.ts";
import { loadOptionsFor } from "../plugins/load-options.ts";
import { LoadedPlugins, type AskPlugins } from "../plugins/loaded-plugins.ts";
import { pluginChecks, PLUGINS_MS } from "./plugins-check.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { failingNow, failingText, LOOKED_AT } from "../runs/failing.ts";
import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { createModels, type Models } from "../../providers/catalog.ts";
import { NO_ANSWER_IN_TIME, LISTING, scanServer, UNREACHED, type Scanned } from "../../providers/scan.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import { nearest } from "../config/keys/nearest.ts";
import type { Config } from "../config/schema/schema.ts";
import { resolveAgents } from "../config/settings.ts";
import { budgetsCheck, type ModelCheckOptions } from "./budgets-check.ts";

interface Scene {
  readonly contributions: Contributions;
  readonly env: NodeJS.ProcessEnv;
  /** The plugins of the running gateway; undefined when none runs. */
  readonly ask: AskPlugins;
}

/**
 * The checks of every module. With an invalid config, checks that need one are left out; the config's own check gives
 * the reason. The caller closes `plugins` when the checks have run.
 */
export async function collectChecks({ contributions, env, ask }: Scene): Promise<{
  readonly checks: readonly Check[];
  readonly plugins: LoadedPlugins | undefined;
}> {
  const paths = resolvePaths(env);
  const load = await loadOptionsFor(contributions, paths, env);
  // The check of the config loads the file again, and reports its problems.
  const loaded = await loadConfig(load).catch(() => undefined);
  const config = loaded?.config;
  const home = env["HOME"] ?? homedir();
  const plugins = loaded && new LoadedPlugins({ paths, home, loaded, contributions, ask });
  const checks = [
    ...appChecks({ paths, load, loaded, contributions }),
    ...(loaded ? [foreignCheck(paths, load)] : []),
    safeModeCheck(paths, env),
    ...storeChecks({ stateDir: paths.stateDir, journal: journalPath(paths), sessions: paths.sessionsDir }),
    runsCheck(journalPath(paths)),
    ...sessionChecks({ dir: paths.sessionsDir, journal: journalPath(paths) }),
    ...(config
      ? keyChecks({
          dir: paths.credentials,
          ownDirs: ownDirsOf(config, paths, home),
          auth: config.auth,
          cooldowns: cooldownsPath(paths),
        })
      : []),
    ...(config && plugins
      ? [
          ...modelChecks(config, {
            env,
            credentials: new Credentials(paths.credentials),
            stateDir: paths.stateDir,
            contributed: () => plugins.modelProviders(),
          }),
          ...pluginChecks(paths, env, plugins),
          ...selectedEngineChecks(plugins, journalPath(paths)),
          ...channelChecks(await accountsIn({ config, contributions })),
        ]
      : []),
    ...contributions.checks.flatMap((contributed) => checksOf(contributed, { stateDir: paths.stateDir, config })),
  ];
  return { checks, plugins };
}

/** The checks of a contributor; a contributor that cannot make its checks is reported by a check that fails. */
function checksOf({ id, checks }: CheckContribution, scene: CheckScene): readonly Check[] {
  try {
    return checks(scene);
  } catch (error) {
    return [{ id, title: id, run: () => Promise.reject(error) }];
  }
}

/** Whether the latest runs came to an answer. */
const runsCheck = (path: string): Check => ({
  id: "app.runs",
  title: "Latest runs",
  run: async () => {
    // A check does not create a journal.
    if (!existsSync(path)) return [{ status: "ok", message: "None yet." }];
    const journal = await openJournalToRead(path);
    try {
      const failing = failingNow(await journal.runs.recent(LOOKED_AT));
      if (!failing) return [{ status: "ok", message: "The latest one did not fail." }];
      const fix = "See openclaw runs list --failed, and ask the models with openclaw models status --probe.";
      return [{ status: "warn", message: `${failingText(failing)}.`, fix }];
    } finally {
      await journal.close();
    }
  },
});

/** The directories of the agents; none when the agents' settings are wrong, which another check reports. */
function ownDirsOf(config: Config, { stateDir }: { readonly stateDir: string }, home: string): readonly string[] {
  try {
    return resolveAgents(config, { home, stateDir }).flatMap(({ agentDir }) => agentDir ?? []);
  } catch {
    return [];
  }
}

/** The checks that need models. */
const modelChecks = (config: Config, options: ModelCheckOptions): readonly Check[] => [
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
