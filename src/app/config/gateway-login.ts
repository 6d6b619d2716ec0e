import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { isMissing } from "../../utils/missing.ts";
import type { Env } from "../../utils/env.ts";
import type { StatePaths } from "./paths.ts";
import type { Config } from "./schema/schema.ts";

const TOKEN_BYTES = 32;
/** Least characters of a token; a shorter one can be guessed. */
export const TOKEN_CHARS = 24;

/** Variables of the gateway's login, and of its clients, where the config has none. */
export const TOKEN_VARIABLE = "OPENCLAW_GATEWAY_TOKEN";
export const PASSWORD_VARIABLE = "OPENCLAW_GATEWAY_PASSWORD";

export const gatewayTokenFile = (paths: Pick<StatePaths, "credentials">): string =>
  join(paths.credentials, "gateway-token");

/** The gateway's token, and what has it. */
export interface FoundToken {
  readonly token: Secret;
  readonly from: "config" | "variable" | "file";
}

/**
 * The token of the config, else of `OPENCLAW_GATEWAY_TOKEN`, else of `credentials/gateway-token`; undefined when there is none. Throws
 * `STATE_UNWRITABLE` when the file cannot be read.
 */
export async function findGatewayToken(
  paths: Pick<StatePaths, "credentials">,
  config: Config,
  env: Env,
): Promise<FoundToken | undefined> {
  if (config.gateway.auth.token) return { token: config.gateway.auth.token, from: "config" };
  const token = variable(TOKEN_VARIABLE, config, env);
  if (token) return { token, from: "variable" };
  try {
    const text = (await readFile(gatewayTokenFile(paths), "utf8")).trim();
    return text === "" ? undefined : { token: new Secret(text), from: "file" };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unusable(paths, error);
  }
}

/** The password of the config, else of `OPENCLAW_GATEWAY_PASSWORD`; undefined when there is none or the mode takes none. */
export function findGatewayPassword(config: Config, env: Env): Secret | undefined {
  const { mode, password } = config.gateway.auth;
  if (mode !== undefined && mode !== "password") return undefined;
  return password ?? variable(PASSWORD_VARIABLE, config, env);
}

/** Variables of the environment that this gateway's login takes, because the config has nothing in their place. */
export const loginVariables = (config: Config, env: Env): readonly string[] => [
  ...(!config.gateway.auth.token && env[TOKEN_VARIABLE]?.trim() ? [TOKEN_VARIABLE] : []),
  ...(!config.gateway.auth.password && findGatewayPassword(config, env) ? [PASSWORD_VARIABLE] : []),
];

/** The variables of a file's `env.vars` hold where the environment has none. */
function variable(name: string, { env: { vars } }: Config, env: Env): Secret | undefined {
  const text = (env[name] ?? vars[name]?.reveal())?.trim();
  return text ? new Secret(text) : undefined;
}

/** The fix for a token that can be guessed. */
export const shortTokenFix = (from: FoundToken["from"]): string => SHORT_FIXES[from];

const SHORT_FIXES: Readonly<Record<FoundToken["from"], string>> = {
  config: "Take it out (openclaw config unset gateway.auth.token): the next start makes a good one.",
  variable: `Give ${TOKEN_VARIABLE} a longer random text, or none: the next start makes a good one.`,
  file: "Remove credentials/gateway-token of the state directory: the next start makes a good one.",
};

/**
 * The token as `findGatewayToken` finds it. A missing token is created: 32 random bytes in a file that only this user
 * can read. Throws `STATE_UNWRITABLE`.
 */
export async function ensureGatewayToken(
  paths: Pick<StatePaths, "credentials">,
  config: Config,
  { env, log }: { readonly env: Env; readonly log?: Pick<Log, "warn"> },
): Promise<FoundToken> {
  const known = await findGatewayToken(paths, config, env);
  if (known) {
    if (known.from === "file") await closeFile(gatewayTokenFile(paths), log);
    return known;
  }
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  try {
    await mkdir(paths.credentials, { recursive: true, mode: 0o700 });
    await writeFile(gatewayTokenFile(paths), `${token}\n`, { mode: 0o600 });
    await chmod(gatewayTokenFile(paths), 0o600);
  } catch (error) {
    throw unusable(paths, error);
  }
  return { token: new Secret(token), from: "file" };
}

/**
 * Closes the token's file to other users. A copy or a restored backup may have opened it, and others may have read it,
 * so a warning is logged.
 */
async function closeFile(path: string, log: Pick<Log, "warn"> | undefined): Promise<void> {
  if (process.platform === "win32") return;
  const mode = (await stat(path)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  const was = { path, mode: mode.toString(8).padStart(4, "0") };
  try {
    await chmod(path, 0o600);
    log?.warn("the gateway token's file was open to other users and is closed now", { ...was, fix: LEAKED_FIX });
  } catch (error) {
    // A file of another user keeps its mode; doctor reports it too.
    log?.warn("the gateway token's file is open to other users and cannot be closed", { ...was, error });
  }
}

const LEAKED_FIX = "If others use this machine, remove that file and restart: the next start makes a new token.";

function unusable(paths: Pick<StatePaths, "credentials">, cause: unknown): OpenClawError {
  const reason = errorText(cause);
  return new OpenClawError("STATE_UNWRITABLE", {
    message: `The gateway token in ${gatewayTokenFile(paths)} cannot be used: ${reason}`,
    fix: "Give this user the right to read and write that file.",
    cause,
  });
}
