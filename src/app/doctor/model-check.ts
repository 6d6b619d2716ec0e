import { ownCredentialsOf } from "../../providers/auth/own-credentials.ts";
import { createModels } from "../../providers/catalog.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { modelName } from "../../types/run/model.ts";
import type { Config } from "../config/schema.ts";
import { resolveAgents } from "../config/settings.ts";
import { budgetsCheck, type ModelCheckOptions } from "./budgets-check.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

/** The directories of the agents, and none when the agents themselves are wrong, which another check says. */
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

/** The model of each agent has a provider and a key, and its server answers. */
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
      return Promise.all(
        agents.map(async (agent): Promise<CheckResult> => {
          const models = all.of(agent.id);
          const ref = agent.model.primary ?? (await models.choose());
          const name = `${agent.id}: ${modelName(ref)}`;
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

/** Any answer is accepted: a model server that answers 404 at its root is running. */
async function reaches(baseUrl: string, signal: AbortSignal): Promise<boolean> {
  return fetch(baseUrl, { method: "HEAD", signal }).then(
    () => true,
    () => false,
  );
}
