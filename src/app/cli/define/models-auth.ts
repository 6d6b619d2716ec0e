import { InvalidArgumentError, type Command } from "commander";
import type { AddFlags } from "../commands/models/models-auth.ts";
import type { LoginFlags } from "../commands/models/models-login.ts";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

interface OfAgent {
  readonly agent?: string;
}

const OF_AGENT = ["--agent <id>", "keys that only this agent uses; those of all agents unless given"] as const;

/** `models auth …` */
export function defineModelsAuth(models: Command, act: Act): void {
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
      act(async (io, options: AddFlags & { provider: string }) => {
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
      act(async (io, options: AddFlags) =>
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
      act(async (io, options: LoginFlags) =>
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
