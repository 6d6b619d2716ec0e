import { type Command, InvalidArgumentError } from "commander";
import type { ModelListFlags } from "../commands/models/models.ts";
import type { ScanFlags } from "../commands/models/models-scan.ts";
import type { ModelStatusFlags } from "../commands/models/models-status.ts";
import { wholeNumber, type Act } from "./act.ts";
import type { AuthAddFlags } from "../commands/models/models-auth.ts";
import type { ModelLoginFlags } from "../commands/models/models-login.ts";

interface Which {
  readonly agent?: string;
}

/** `models …` */
export function defineModels(program: Command, act: Act): void {
  const models = program.command("models").description("language models and their keys");
  models
    .command("list", { isDefault: true })
    .description("list the models that can be used now (the default)")
    .option("--all", "also models without a key")
    .option("--local", "only models on this machine")
    .option("--provider <id>", "only this provider's")
    .option("--json", "for scripts")
    .option("--plain", "names only")
    .action(
      act(async (io, options: ModelListFlags) =>
        (await import("../commands/models/models.ts")).modelsList(io, options),
      ),
    );
  defineStatus(models, act);
  models
    .command("set")
    .argument("<model>", "provider/model")
    .description("the model that is asked first")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { modelsSet } = await import("../commands/models/models-set.ts");
        return modelsSet(io, model, options);
      }),
    );
  defineFallbacks(models, act);
  models
    .command("scan")
    .description("ask servers for their models: those of the config, on this machine, OpenRouter")
    .option("--provider <id>", "only this one")
    .option("--free", "only models that are free by the server's prices")
    .option("--timeout <ms>", "how long to wait for a server", wholeNumber(1), 5000)
    .option("--json", "for scripts")
    .action(
      act(async (io, options: ScanFlags) =>
        (await import("../commands/models/models-scan.ts")).modelsScan(io, options),
      ),
    );
  defineModelsAuth(models, act);
}

function defineStatus(models: Command, act: Act): void {
  models
    .command("status")
    .description("show the model in use, its keys and their state")
    .option("--json", "for scripts")
    .option("--plain", "print only the model")
    .option("--check", "exit with 1 if a key is missing or expired")
    .option("--probe", "ask each key for a few tokens")
    .option("--probe-provider <name>", "with --probe: only this provider's")
    .option("--probe-profile <id>", "with --probe: only this key")
    .option("--probe-timeout <ms>", "how long to wait for an answer", wholeNumber(1), 15_000)
    .option("--probe-concurrency <n>", "calls at the same time", wholeNumber(1, 32), 2)
    .option("--probe-max-tokens <n>", "most tokens of an answer", wholeNumber(1), 16)
    .option("--agent <id>", "for this agent")
    .action(
      act(async (io, options: ModelStatusFlags) =>
        (await import("../commands/models/models-status.ts")).modelsStatus(io, options),
      ),
    );
}

function defineFallbacks(models: Command, act: Act): void {
  const fallbacks = models.command("fallbacks").description("models that are asked when the first model fails");
  fallbacks
    .command("list", { isDefault: true })
    .description("list the fallbacks in their order (the default)")
    .option("--agent <id>", "for this agent")
    .option("--json", "for scripts")
    .option("--plain", "names only")
    .action(
      act(async (io, options: Which & { json?: boolean; plain?: boolean }) => {
        const { fallbacksList } = await import("../commands/models/models-set.ts");
        return fallbacksList(io, options);
      }),
    );
  fallbacks
    .command("add")
    .argument("<model>", "provider/model")
    .description("add a fallback at the end")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { fallbacksAdd } = await import("../commands/models/models-set.ts");
        return fallbacksAdd(io, model, options);
      }),
    );
  fallbacks
    .command("remove")
    .argument("<model>", "provider/model")
    .description("one less")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, model: string, options: Which) => {
        const { fallbacksRemove } = await import("../commands/models/models-set.ts");
        return fallbacksRemove(io, model, options);
      }),
    );
  fallbacks
    .command("clear")
    .description("remove all fallbacks")
    .option("--agent <id>", "only for this agent")
    .action(
      act(async (io, options: Which) => {
        const { fallbacksClear } = await import("../commands/models/models-set.ts");
        return fallbacksClear(io, options);
      }),
    );
}

interface Json {
  readonly json?: boolean;
}

interface OfAgent {
  readonly agent?: string;
}

const OF_AGENT = ["--agent <id>", "keys that only this agent uses; those of all agents unless given"] as const;

/** `models auth …` */
function defineModelsAuth(models: Command, act: Act): void {
  const auth = models.command("auth").description("stored keys and logins");
  auth
    .command("list", { isDefault: true })
    .description("list the stored keys without their secrets (the default)")
    .option("--provider <id>", "only this provider's")
    .option(...OF_AGENT)
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & OfAgent & { provider?: string }) => {
        const { authList } = await import("../commands/models/models-auth.ts");
        return authList(io, options);
      }),
    );
  defineStoring(auth, act);
  auth
    .command("logout")
    .argument("<id>", "key, as `openclaw models auth list` names it")
    .description("forget a stored key")
    .option(...OF_AGENT)
    .action(
      act(async (io, id: string, options: OfAgent) =>
        (await import("../commands/models/models-auth.ts")).authLogout(io, id, options),
      ),
    );
  defineOrder(auth, act);
}

function defineStoring(auth: Command, act: Act): void {
  auth
    .command("add")
    .description("store an API key, typed invisibly or from a pipe")
    .requiredOption("--provider <id>", "whose key it is")
    .option("--profile-id <id>", "name of the key, <provider>:default when unset")
    .option(...OF_AGENT)
    .action(
      act(async (io, options: AuthAddFlags & { provider: string }) => {
        const { authAdd } = await import("../commands/models/models-auth.ts");
        return authAdd(io, options);
      }),
    );
  auth
    .command("paste-token")
    .description("store a token, typed invisibly or from a pipe")
    .option("--provider <id>", "provider of the token")
    .option("--profile-id <id>", "name of the token, <provider>:manual when unset")
    .option(...OF_AGENT)
    .option("--expires-in <duration>", "how long the token is valid: 30m, 12h, 365d", duration)
    .action(
      act(async (io, options: AuthAddFlags) =>
        (await import("../commands/models/models-auth.ts")).authPasteToken(io, options),
      ),
    );
  auth
    .command("login")
    .description("log in with a subscription, in the browser")
    .requiredOption("--provider <id>", "anthropic, openai-codex or github-copilot")
    .option("--profile-id <id>", "name of the login, <provider>:default when unset")
    .option(...OF_AGENT)
    .action(
      act(async (io, options: ModelLoginFlags) =>
        (await import("../commands/models/models-login.ts")).authLogin(io, options),
      ),
    );
}

function defineOrder(auth: Command, act: Act): void {
  const order = auth.command("order").description("order in which stored keys of a provider are tried");
  order
    .command("get", { isDefault: true })
    .description("show the order (the default)")
    .requiredOption("--provider <id>", "whose keys")
    .option(...OF_AGENT)
    .option("--json", "for scripts")
    .action(
      act(async (io, options: Json & OfAgent & { provider: string }) => {
        const { orderGet } = await import("../commands/models/models-auth.ts");
        return orderGet(io, options);
      }),
    );
  order
    .command("set")
    .argument("<ids...>", "order of the stored keys of a provider")
    .description("try only these keys, in this order")
    .requiredOption("--provider <id>", "whose keys")
    .option(...OF_AGENT)
    .action(
      act(async (io, ids: readonly string[], options: OfAgent & { provider: string }) => {
        const { orderSet } = await import("../commands/models/models-auth.ts");
        return orderSet(io, options, ids);
      }),
    );
  order
    .command("clear")
    .description("return to the default order: logins, tokens, keys")
    .requiredOption("--provider <id>", "whose keys")
    .option(...OF_AGENT)
    .action(
      act(async (io, options: OfAgent & { provider: string }) => {
        const { orderClear } = await import("../commands/models/models-auth.ts");
        return orderClear(io, options);
      }),
    );
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `12h` in milliseconds. */
function duration(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const size = UNITS[unit];
  if (amount === undefined || size === undefined) throw new InvalidArgumentError("Write it as 30m, 12h or 365d.");
  return Number(amount) * size;
}
