import { join } from "node:path";
import { accountInputs } from "../channels/config.ts";
import { channelChecks, type Prober } from "../channels/checks.ts";
import type { ConfiguredAccount } from "../channels/ports.ts";
import { keyChecks } from "../providers/auth/checks.ts";
import { Credentials } from "../providers/auth/credentials.ts";
import { createModels } from "../providers/catalog.ts";
import { checks as sessionChecks } from "../sessions/checks.ts";
import { checks as storeChecks } from "../store/checks.ts";
import type { Check, CheckResult } from "../types/check.ts";
import { accountId } from "../types/ids.ts";
import { loadConfig } from "./config/load.ts";
import { resolvePaths } from "./config/paths.ts";
import type { Config } from "./config/schema.ts";
import { resolveAgents } from "./config/settings.ts";
import { appChecks } from "./doctor/app-checks.ts";
import { bundledChannels, channelSchemas, findAdapter, findProber } from "./gateway/extensions.ts";

/** Every room's checks. An invalid config leaves those out that need it; its own check tells why. */
export async function collectChecks(env: NodeJS.ProcessEnv = process.env): Promise<readonly Check[]> {
  const paths = resolvePaths(env);
  const load = { path: paths.configPath, env, channelSchemas: await channelSchemas() };
  const config = await loadConfig(load).then(
    (loaded) => loaded.config,
    () => undefined,
  );
  return [
    ...appChecks({ paths, load, config }),
    ...storeChecks({ stateDir: paths.stateDir, journal: join(paths.stateSub, "journal.sqlite") }),
    ...sessionChecks(paths.sessionsDir),
    ...(config ? keyChecks({ dir: paths.credentials, auth: config.auth }) : []),
    ...(config
      ? [modelCheck(config, env, new Credentials(paths.credentials)), engineCheck(), ...(await channelsOf(config))]
      : []),
  ];
}

async function channelsOf(config: Config): Promise<readonly Check[]> {
  const accounts: ConfiguredAccount[] = [];
  const probers: Record<string, Prober> = {};
  for (const [id, section] of Object.entries(config.channels)) {
    const adapter = bundledChannels.includes(id) ? await findAdapter(id) : undefined;
    if (!adapter) continue;
    const prober = await findProber(id);
    if (prober) probers[id] = prober;
    for (const { id: account, input } of accountInputs(section)) {
      const settings = adapter.config.parse(input);
      const enabled = section.enabled && input["enabled"] !== false;
      accounts.push({ adapter, account: accountId(account), config: settings, enabled });
    }
  }
  return channelChecks(accounts, probers);
}

/** The model of each agent has a provider and a key, and its server answers. */
function modelCheck(config: Config, env: NodeJS.ProcessEnv, credentials: Credentials): Check {
  return {
    id: "model",
    title: "Model",
    async run(signal) {
      const models = createModels({ ...config.models, env, auth: config.auth, credentials });
      const agents = resolveAgents(config, { home: env["HOME"] ?? "", stateDir: "/" });
      return Promise.all(
        agents.map(async (agent): Promise<CheckResult> => {
          const ref = agent.model.primary ?? (await models.choose());
          const name = `${agent.id}: ${ref.provider}/${ref.id}`;
          const found = await models.find(ref);
          if ("missing" in found) return { status: "fail", message: name, fix: found.missing };
          if (found.info.demo)
            return {
              status: "warn",
              message: `${name} is the built-in demo`,
              fix: "Set a key such as ANTHROPIC_API_KEY, or models.providers.",
            };
          return (await reaches(found.pi.baseUrl, signal))
            ? { status: "ok", message: name }
            : {
                status: "warn",
                message: `${name}: ${new URL(found.pi.baseUrl).host} does not answer`,
                fix: "Check the network of this machine, or models.providers.*.baseUrl.",
              };
        }),
      );
    },
  };
}

/** Any answer will do: a model server without a path answers 404, and that is alive. */
async function reaches(baseUrl: string, signal: AbortSignal): Promise<boolean> {
  return fetch(baseUrl, { method: "HEAD", signal }).then(
    () => true,
    () => false,
  );
}

function engineCheck(): Check {
  return {
    id: "context-engine",
    title: "Context engine",
    run: async () => [{ status: "ok", message: "legacy (built in)" }],
  };
}
