import type { Credentials } from "../../providers/auth/credentials.ts";
import type { ModelProviderContribution } from "../../types/contribution.ts";
import { hasPrice } from "../../providers/build.ts";
import { capKeys, hasCaps } from "../../providers/budget/caps.ts";
import { createModels, type Models } from "../../providers/catalog.ts";
import { modelOf } from "../../providers/speech/services.ts";
import { isLoopbackName } from "../../server/transport/origin.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import { modelName, parseModelName, type ModelRef } from "../../types/run/model.ts";
import type { Config } from "../config/schema/schema.ts";
import { resolveAgents } from "../config/settings.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

export interface ModelCheckOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly credentials: Credentials;
  readonly stateDir: string;
  /** Providers of extensions and plugins. */
  contributed(): Promise<readonly ModelProviderContribution[]>;
}

/**
 * Whether the budgets can be kept: every model has a price or is limited in tokens, the currency has a rate, and the
 * smaller model exists.
 */
export function budgetsCheck(config: Config, options: Omit<ModelCheckOptions, "stateDir">): Check {
  return {
    id: "budgets",
    title: "Budgets",
    timeoutMs: PLUGINS_MS,
    async run() {
      const { budgets } = config;
      if (!hasCaps(budgets)) return [{ status: "ok", message: "No budget is set." }];
      const { env, credentials } = options;
      const contributed = await options.contributed();
      const models = createModels({ ...config.models, env, auth: config.auth, credentials }, { contributed });
      const found = [
        ...currencyOf(config),
        ...(await unpriced(config, models, env)),
        ...(await softOf(config, models)),
      ];
      return found.length > 0 ? found : [{ status: "ok", message: `Budgets: ${capKeys(budgets).all.join(", ")}` }];
    },
  };
}

function currencyOf({ budgets }: Config): CheckResult[] {
  const { inMoney } = capKeys(budgets);
  if (budgets.currency === "USD" || budgets.usdPerUnit !== undefined || inMoney.length === 0) return [];
  return [
    {
      status: "fail",
      message: `Prices are in US dollars, and the rate of ${budgets.currency} is not known, so ${inMoney.join(", ")} allows nothing.`,
      fix: "Set budgets.usdPerUnit to the dollars that one unit is worth.",
    },
  ];
}

/** Models of agents whose price is not known, where a limit is in money alone. */
async function unpriced(config: Config, models: Models, env: NodeJS.ProcessEnv): Promise<CheckResult[]> {
  const { inMoneyAlone } = capKeys(config.budgets);
  if (inMoneyAlone.length === 0) return [];
  const agents = resolveAgents(config, { home: env["HOME"] ?? "", stateDir: "/" });
  const named = agents.flatMap(({ model }) => [...(model.primary ? [model.primary] : []), ...model.fallbacks]);
  const refs = new Map(named.map((ref) => [modelName(ref), ref] as const));
  const missing = await Promise.all([...refs.values()].map((ref) => withoutPrice(ref, models)));
  const ofModels = missing
    .filter((name) => name !== undefined)
    .map((name): CheckResult => ({
      status: "warn",
      message: `The price of ${name} is not known, so ${inMoneyAlone.join(", ")} refuses it.`,
      fix: "Give the model a cost in models.providers (0 when it is free), or set tokens in that limit too.",
    }));
  return [...ofModels, ...unpricedServices(config)];
}

/** Services for transcription or speech, on other machines than this one, without a price. */
function unpricedServices({ audio: { transcription }, messages: { tts } }: Config): CheckResult[] {
  const writing = transcription?.baseUrl !== undefined && transcription.costPerMinute === undefined;
  const all = [
    ...(writing ? [["audio.transcription.costPerMinute", transcription.baseUrl] as const] : []),
    ...Object.entries(tts.providers).flatMap(([name, given]) =>
      given.command || given.costPerMillionChars !== undefined
        ? []
        : [[`messages.tts.providers.${name}.costPerMillionChars`, modelOf(name, given).url] as const],
    ),
  ];
  return all
    .filter(([, url = ""]) => !isLoopbackName(new URL(url).host))
    .map(([key, url = ""]) => ({
      status: "warn",
      message: `The price of ${new URL(url).host} is not known, so a limit in money alone refuses it.`,
      fix: `Set ${key} in US dollars (0 when it is free), or set tokens in that limit too.`,
    }));
}

/** Name of a model without a price. The check of models reports a model that cannot be called. */
async function withoutPrice(ref: ModelRef, models: Models): Promise<string | undefined> {
  const found = await models.find(ref);
  if ("missing" in found || found.info.demo === true || hasPrice(found.pi)) return undefined;
  return modelName(ref);
}

async function softOf({ budgets: { soft } }: Config, models: Models): Promise<CheckResult[]> {
  if (soft?.model === undefined) return [];
  const fix = "Set budgets.soft.model to a model as provider/model that has a key.";
  const ref = parseModelName(soft.model);
  if (!ref) return [{ status: "fail", message: `budgets.soft.model "${soft.model}" names no provider.`, fix }];
  const found = await models.find(ref);
  return "missing" in found
    ? [{ status: "warn", message: `The smaller model ${soft.model} cannot answer: ${found.missing}`, fix }]
    : [];
}
