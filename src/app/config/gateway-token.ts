import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { isMissing } from "../../utils/missing.ts";
import type { StatePaths } from "./paths.ts";
import type { Config } from "./schema/schema.ts";

const TOKEN_BYTES = 32;
/** Least characters of a token; a shorter one can be guessed. */
export const TOKEN_CHARS = 24;
export const GATEWAY_TOKEN_FIX =
  "Take it out (openclaw config unset gateway.auth.token): the next start makes a good one.";

export const gatewayTokenFile = (paths: Pick<StatePaths, "credentials">): string =>
  join(paths.credentials, "gateway-token");

/**
 * The token of the config, else of `credentials/gateway-token`; undefined when there is neither. Throws
 * `STATE_UNWRITABLE` when the file cannot be read.
 */
export async function readGatewayToken(paths: StatePaths, config: Config): Promise<Secret | undefined> {
  if (config.gateway.auth.token) return config.gateway.auth.token;
  try {
    const text = (await readFile(gatewayTokenFile(paths), "utf8")).trim();
    return text === "" ? undefined : new Secret(text);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unusable(paths, error);
  }
}

/**
 * The token as `readGatewayToken` finds it. A missing token is created: 32 random bytes in a file that only this user
 * can read. Throws `STATE_UNWRITABLE`.
 */
export async function ensureGatewayToken(paths: StatePaths, config: Config, log?: Pick<Log, "warn">): Promise<Secret> {
  const known = await readGatewayToken(paths, config);
  if (known) {
    if (known !== config.gateway.auth.token) await closeFile(gatewayTokenFile(paths), log);
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
  return new Secret(token);
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

function unusable(paths: StatePaths, cause: unknown): OpenClawError {
  const reason = errorText(cause);
  return new OpenClawError("STATE_UNWRITABLE", {
    message: `The gateway token in ${gatewayTokenFile(paths)} cannot be used: ${reason}`,
    fix: "Give this user the right to read and write that file.",
    cause,
  });
}
