import { createServer } from "node:net";
import type { Contributions } from "../../plugins/contributions.ts";
import type { LoadedConfig } from "../config/load.ts";
import { auditService } from "../service/audit.ts";
import { homedir } from "node:os";
import { maintenanceCheck } from "../../sessions/maintenance/check.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { resolveAgents } from "../config/settings.ts";
import { maintenanceScene } from "../runs/maintenance-scene.ts";
import { findPortOwner } from "../../server/port-owner.ts";
import { readStateLock } from "../../store/lock/lock.ts";
import { showDuration } from "../../utils/time/duration.ts";
import { readBackupRecord } from "../backup/schedule.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Env } from "../../utils/env.ts";
import {
  findGatewayPassword,
  findGatewayToken,
  shortTokenFix,
  TOKEN_CHARS,
  TOKEN_VARIABLE,
} from "../config/gateway-login.ts";
import { controlUiGap, controlUiRoot } from "../config/control-ui.ts";
import type { StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";

export function portCheck(config: Config, paths: StatePaths): Check {
  const { port } = config.gateway;
  return {
    id: "app.port",
    title: "Port",
    async run() {
      if (port === 0) return [{ status: "ok", message: "A free port is taken at the start." }];
      const lock = await readStateLock(paths.stateDir);
      // A daemon that was started with --port uses another port, so the one in the config does not matter.
      if (lock?.alive && lock.port !== undefined) {
        return [{ status: "ok", message: `${lock.port} is held by this gateway.` }];
      }
      if (await isFree(port)) return [{ status: "ok", message: `${port} is free.` }];
      const owner = (await findPortOwner(port)) ?? "another program";
      return [
        {
          status: "fail",
          message: `${port} is taken by ${owner}.`,
          fix: "Stop that program, or choose another port: openclaw config set gateway.port <port>",
        },
      ];
    },
  };
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  return promise;
}

export function lockCheck(paths: StatePaths): Check {
  return {
    id: "app.lock",
    title: "Gateway lock",
    async run() {
      const lock = await readStateLock(paths.stateDir);
      if (!lock) return [{ status: "ok", message: "No gateway runs on this state directory." }];
      if (lock.alive) return [{ status: "ok", message: `Held by pid ${lock.pid} (${lock.command}).` }];
      return [
        {
          status: "warn",
          message: `Left over from process ${lock.pid}, which did not shut down properly.`,
          fix: "Nothing to do: the next start takes it over and continues unfinished work.",
        },
      ];
    },
  };
}

export const tokenCheck =
  (env: Env) =>
  (config: Config, paths: StatePaths): Check => ({
    id: "app.token",
    title: "Gateway token",
    async run() {
      const found = await findGatewayToken(paths, config, env);
      if (!found) return [{ status: "skip", message: "None yet: the first start makes one." }];
      const { token, from } = found;
      if (token.reveal().length >= TOKEN_CHARS)
        return [
          { status: "ok", message: `${from === "variable" ? `In ${TOKEN_VARIABLE}` : "There"}, and long enough.` },
          ...passwordResults(config, env),
          ...bareResults(config),
        ];
      return [
        {
          status: isPublic(config) ? "fail" : "warn",
          message: `The token has fewer than ${TOKEN_CHARS} characters and can be guessed.`,
          fix: shortTokenFix(from),
        } satisfies CheckResult,
      ];
    },
  });

/** Tells of a password that this terminal has and the config does not: a gateway that others start may lack it. */
function passwordResults(config: Config, env: Env): readonly CheckResult[] {
  if (config.gateway.auth.password || !findGatewayPassword(config, env)) return [];
  return [{ status: "ok", message: "Clients may also log in with the password in OPENCLAW_GATEWAY_PASSWORD." }];
}

/**
 * A warning when the token and every message cross the network unencrypted, unless a proxy is named that may encrypt
 * them.
 */
function bareResults(config: Config): readonly CheckResult[] {
  const { bind, trustedProxies } = config.gateway;
  if ((bind !== "lan" && bind !== "custom") || trustedProxies.length > 0) return [];
  return [
    {
      status: "warn",
      message: `gateway.bind is ${bind}, and traffic is not encrypted: whoever listens on that network reads the token.`,
      fix: "Put a TLS proxy in front and name it in gateway.trustedProxies, or set gateway.bind to loopback and use SSH or a VPN.",
    },
  ];
}

const isPublic = (config: Config): boolean => !["loopback", "auto"].includes(config.gateway.bind);

/** Whether the folder of `gateway.controlUi.root` has a page. */
export const pageCheck =
  (env: Env) =>
  (config: Config, paths: StatePaths): Check => ({
    id: "app.page",
    title: "Page",
    async run() {
      const { enabled, basePath } = config.gateway.controlUi;
      if (!enabled) return [{ status: "skip", message: "Switched off." }];
      const root = controlUiRoot(config, paths, env);
      const gap = root === undefined ? undefined : await controlUiGap(root, paths);
      if (gap) return [{ status: "fail", message: gap.message, fix: gap.fix }];
      return [{ status: "ok", message: `${root === undefined ? "The gateway's own" : root}, at ${basePath}/.` }];
    },
  });

/**
 * Whether webhooks have a token of their own, long enough. Whoever has that token can make an agent work; it must not
 * open everything else as well.
 */
export const webhooksCheck =
  (env: Env) =>
  (config: Config, paths: StatePaths): Check => ({
    id: "app.hooks",
    title: "Webhooks",
    async run() {
      const { enabled, token } = config.hooks;
      if (!enabled || !token) return [{ status: "skip", message: "Switched off." }];
      const own = await findGatewayToken(paths, config, env);
      if (own?.token.reveal() === token.reveal()) return [SAME_TOKEN];
      if (token.reveal().length >= TOKEN_CHARS) return [{ status: "ok", message: "They have a token of their own." }];
      const message = `hooks.token has fewer than ${TOKEN_CHARS} characters and can be guessed.`;
      return [{ status: "warn", message, fix: "Set hooks.token to a longer random text." }];
    },
  });

const SAME_TOKEN: CheckResult = {
  status: "fail",
  message: "hooks.token is the gateway's own token, so every program that calls a webhook is an operator.",
  fix: "Set hooks.token to another random text, and give that one to the programs.",
};

/** What is due by `session.maintenance`. */
export const upkeepCheck =
  (env: Env) =>
  (config: Config, paths: StatePaths): Check =>
    maintenanceCheck(() => {
      const [first] = resolveAgents(config, { home: env["HOME"] ?? homedir(), stateDir: paths.stateDir });
      return maintenanceScene({ config, paths, defaultAgent: first?.id ?? DEFAULT_AGENT });
    });

/** Whether the backups that the config asks for are made. */
export const backupsCheck = ({ backup }: Config, { stateDir }: StatePaths): Check => ({
  id: "app.backups",
  title: "Backups",
  async run() {
    if (backup.every === 0)
      return [{ status: "ok", message: "The gateway makes none by itself (openclaw backup enable)." }];
    const record = await readBackupRecord(stateDir);
    const fix = "See openclaw backup status, and try it: openclaw backup create";
    if (record?.error !== undefined)
      return [{ status: "warn", message: `The last backup failed: ${record.error}`, fix }];
    if (!record?.last)
      return [{ status: "ok", message: "None was made yet; the running gateway makes the first one." }];
    const age = Date.now() - record.last.at;
    const message = `The last backup is ${showDuration(age)} old.`;
    if (age <= 2 * backup.every) return [{ status: "ok", message }];
    return [{ status: "warn", message, fix: "Backups are made while the gateway runs: openclaw gateway run" }];
  },
});

/** Whether the installed service is as this version writes it, and still starts. */
export const serviceCheck = (
  loaded: Pick<LoadedConfig, "config" | "variables">,
  scene: { readonly env: Env; readonly contributions: Contributions },
): Check => ({
  id: "app.service",
  title: "Service",
  async run() {
    const service = await auditService(loaded, scene);
    if (!service) return [{ status: "skip", message: "The gateway is not installed as a service." }];
    if (service.faults.length === 0)
      return [{ status: "ok", message: `${service.name} is as this version writes it, and has what it needs.` }];
    return service.faults.map(({ message, fix, isFatal }) => ({ status: isFatal ? "fail" : "warn", message, fix }));
  },
});
