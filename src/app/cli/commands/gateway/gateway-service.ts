import { existsSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { makePrivateDir, writeAtomic } from "../../../../store/disk.ts";
import { forgetBoots } from "../../../../store/lock/boots.ts";
import { readStateLock } from "../../../../store/lock/lock.ts";
import { OpenClawError, withFix } from "../../../../types/errors.ts";
import { isInside } from "../../../../utils/real-path.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { requireLocal } from "../../../config/remote.ts";
import { loadConfig } from "../../../config/load.ts";
import type { StatePaths } from "../../../config/paths.ts";
import { gatewayTokenFile, TOKEN_VARIABLE } from "../../../config/gateway-login.ts";
import { isInstalled, serviceHere, type Service } from "../../../service/here.ts";
import type { ServiceManager, ServiceState } from "../../../service/manager.ts";
import { refuseUnusable, servicePlan, type ServiceChoices } from "../../../service/service.ts";
import { serviceVariables } from "../../../service/variables.ts";
import { withGateway } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { readState, requireState, type State } from "../../state.ts";
import { readGatewayState } from "./gateway-state.ts";
import { gatewayStop } from "./gateway-stop.ts";

import { readTextFile } from "../../../../store/text-file.ts";

/** Milliseconds until a started gateway must answer. */
const START_MS = 60_000;
const LOOK_EVERY_MS = 250;

export interface InstallFlags extends ServiceChoices {
  readonly token?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `gateway install`: writes the service, starts it, and waits until the gateway answers. */
export async function serviceInstall(io: Io, flags: InstallFlags): Promise<number> {
  const state = await requireState(io);
  requireLocal(state.config);
  const { paths } = state;
  const { manager, scene } = serviceHere(io.env);
  // The config has the port, so that every command and a gateway that is run by hand use the same.
  const { port, ...choices } = flags;
  await refuseUnusable(flags);
  const plan = servicePlan(paths, scene, choices);
  await refuseForeign(manager, flags.force === true);
  await refuseUnheard(manager);
  const isOtherPort = port !== undefined && port !== state.config.gateway.port;
  if (isOtherPort) await writeConfigValues(state.load, [{ path: ["gateway", "port"], value: port }]);
  if (flags.token !== undefined) await keepToken(flags.token, state);
  const secrets = await secretsFor(io, state, flags);
  const kept = await keepSecrets(plan.secretsFile, secrets, flags.token === undefined ? [] : [TOKEN_VARIABLE]);
  const long = [...secrets.keys()].filter((name) => !kept.includes(name));
  for (const { path, mode, text } of manager.files(plan)) {
    await (isInside(path, paths.stateDir) ? makePrivateDir(dirname(path)) : mkdir(dirname(path), { recursive: true }));
    await writeAtomic(path, text);
    await chmod(path, mode);
  }
  const enabled = await manager.enable();
  const notes = [
    ...(isOtherPort ? [`gateway.port of the config is ${port} now.`] : []),
    ...(kept.length > 0
      ? [
          `${kept.join(", ")}: written into ${plan.secretsFile}, because a service does not have the variables of this terminal.`,
        ]
      : []),
    ...(long.length > 0
      ? [
          `${long.join(", ")}: not written, because a value has several lines. Put it into a file, and name that in the config.`,
        ]
      : []),
    ...enabled,
  ];
  const other = await ownerBesides(manager, paths);
  if (other !== undefined)
    notes.push(
      `A gateway runs already (pid ${other}). The service takes over with: openclaw gateway stop && openclaw gateway start`,
    );
  const started = other === undefined ? await bringUp(io, manager, () => manager.restart()) : undefined;
  if (flags.json === true)
    writeJson(io, { service: manager.name, file: manager.file, started: started?.pid !== undefined, kept, notes });
  else
    io.out(
      [
        `Installed ${manager.name} (${manager.kind}): ${manager.file}`,
        ...(started ? [runsLine(started)] : []),
        ...notes,
        "",
      ].join("\n"),
    );
  return 0;
}

/** Throws SERVICE_UNSUPPORTED where the manager would not take the service, before anything is written. */
async function refuseUnheard(manager: ServiceManager): Promise<void> {
  const { unheard } = await manager.state();
  if (unheard) throw unheard;
}

const runsLine = ({ pid, url }: { pid?: number; url: string }) => `The gateway runs (pid ${pid}) and answers at ${url}`;

export interface ServiceFlags {
  readonly json?: boolean;
}

export interface ServiceStartFlags extends ServiceFlags {
  /** Not in safe mode, whatever the starts before came to. */
  readonly normal?: boolean;
}

/** `gateway start`: nothing happens when it runs. */
export async function serviceStart(io: Io, flags: ServiceStartFlags): Promise<number> {
  const { manager, paths } = await installed(io);
  const other = await ownerBesides(manager, paths);
  if (other !== undefined)
    throw new OpenClawError("STATE_LOCKED", {
      message: `A gateway that is no service runs on ${paths.stateDir} (pid ${other}).`,
      fix: "Stop it first: openclaw gateway stop",
    });
  if (flags.normal === true) await forgetBoots(paths.stateDir);
  return report(io, flags, await bringUp(io, manager, () => manager.start()));
}

export interface RestartFlags extends ServiceStartFlags {
  /** Milliseconds to wait first until no run is active. */
  readonly waitMs?: number;
}

/** `gateway restart`: runs get their time to finish, and unfinished ones continue afterwards. */
export async function serviceRestart(io: Io, flags: RestartFlags): Promise<number> {
  const { manager, paths } = await installed(io);
  if (flags.waitMs !== undefined) await untilIdle(io, flags.waitMs);
  if (flags.normal === true) await forgetBoots(paths.stateDir);
  return report(io, flags, await bringUp(io, manager, () => manager.restart()));
}

export interface StopFlags extends ServiceFlags {
  /** The service does not start by itself again, until it is started. */
  readonly disable?: boolean;
}

/** `gateway stop`: by the service manager where the service runs, because that would start it again. */
export async function serviceStop(io: Io, flags: StopFlags): Promise<number> {
  const own = await serviceOf(io);
  if (own && flags.disable === true) await own.manager.disable();
  if (!own?.state.running) return gatewayStop(io);
  await withProgress(io, "Waiting for runs to finish", own.manager.stop());
  io.out(`Stopped ${own.manager.name}.\n`);
  return 0;
}

/** `gateway uninstall`: the service goes, the state directory stays. */
export async function serviceUninstall(io: Io, flags: ServiceFlags): Promise<number> {
  const removed = await removeService(io);
  const { manager, paths } = serviceHere(io.env);
  if (flags.json === true) writeJson(io, { service: manager.name, removed: removed !== undefined });
  else if (removed === undefined) io.out(`${manager.name} is not installed.\n`);
  else io.out(`Removed ${removed}. ${paths.stateDir} stays as it is.\n`);
  return 0;
}

/** Removes the service. Resolves with its name; undefined when it is not installed. Rejects with SERVICE_FOREIGN for another program's. */
export async function removeService(io: Io): Promise<string | undefined> {
  const { manager, paths, scene } = serviceHere(io.env);
  const files = manager.files(servicePlan(paths, scene));
  if (!files.some(({ path }) => existsSync(path))) return undefined;
  await refuseForeign(manager, false);
  // A service that cannot be stopped keeps its files: without them nothing could stop it.
  const { running, unheard } = await manager.state();
  // A gateway that runs may be the service, which nobody here can stop.
  if (unheard && (await readStateLock(paths.stateDir))?.alive === true) throw unheard;
  if (running) await manager.stop();
  if (!unheard) await manager.disable().catch((error: unknown) => io.err(`${withFix(error)}\n`));
  for (const { path } of files) await rm(path, { force: true });
  await manager.forget();
  return manager.name;
}

/** The installed service and its state; undefined where none is installed or can be. */
export async function serviceOf(io: Io): Promise<{ manager: ServiceManager; state: ServiceState } | undefined> {
  try {
    const { manager } = serviceHere(io.env);
    if (!(await isInstalled(manager))) return undefined;
    return { manager, state: await manager.state() };
  } catch (error) {
    if (error instanceof OpenClawError && error.code === "SERVICE_UNSUPPORTED") return undefined;
    throw error;
  }
}

async function installed(io: Io): Promise<Service> {
  const service = serviceHere(io.env);
  if (await isInstalled(service.manager)) return service;
  throw new OpenClawError("SERVICE_MISSING", {
    message: `The gateway of ${service.paths.stateDir} is not installed as a service.`,
    fix: "Install it: openclaw gateway install",
  });
}

/** Another program's service of the same name is not written over by itself. */
async function refuseForeign(manager: ServiceManager, isForced: boolean): Promise<void> {
  if (isForced || !existsSync(manager.file) || (await isInstalled(manager))) return;
  throw new OpenClawError("SERVICE_FOREIGN", {
    message: `${manager.file} was written by another program, such as OpenClaw.`,
    fix: "Uninstall that service with its own program. `openclaw gateway install --force` writes over it.",
  });
}

/** The gateway that holds the state directory and is not the service's. */
async function ownerBesides(manager: ServiceManager, { stateDir }: StatePaths): Promise<number | undefined> {
  const lock = await readStateLock(stateDir);
  if (lock?.alive !== true) return undefined;
  const { running, pid } = await manager.state();
  return running && (pid === undefined || pid === lock.pid) ? undefined : lock.pid;
}

/**
 * Restarts the service, calls `started`, and waits until a gateway of this version answers. Rejects with SERVICE_FAILED when none
 * does.
 */
export async function restartInto(io: Io, version: string, started: () => Promise<void>): Promise<void> {
  const { manager } = await installed(io);
  const start = async () => {
    await manager.restart();
    await started();
  };
  await bringUp(io, manager, start, version);
}

/**
 * Starts the service, and waits until the gateway answers, of this version where one is named. Rejects with SERVICE_FAILED when it
 * does not.
 */
async function bringUp(
  io: Io,
  manager: ServiceManager,
  start: () => Promise<void>,
  version?: string,
): Promise<{ pid?: number; url: string }> {
  return withProgress(
    io,
    "Waiting until the gateway answers",
    (async () => {
      await start();
      for (let waited = 0; waited < START_MS; waited += LOOK_EVERY_MS) {
        const look = await readGatewayState(io, await readState(io), 2000);
        if (look.status && (version === undefined || look.status.version === version)) return look;
        const state = await manager.state();
        if (!state.running && /failed/.test(state.detail)) break;
        await sleep(LOOK_EVERY_MS);
      }
      throw new OpenClawError("SERVICE_FAILED", {
        message: `${manager.name} does not answer: ${(await manager.state()).detail}`,
        fix: `Look into: ${manager.logCommand}`,
      });
    })(),
  );
}

function report(io: Io, { json }: ServiceFlags, { pid, url }: { pid?: number; url: string }): number {
  if (json === true) writeJson(io, { running: true, pid: pid ?? null, url });
  else io.out(`${runsLine({ url, ...(pid !== undefined && { pid }) })}\n`);
  return 0;
}

const preflight = z.looseObject({ safe: z.boolean() });

/** Waits until no run is active, for at most so long. */
async function untilIdle(io: Io, mostMs: number): Promise<void> {
  const state = await readState(io);
  if (!state.owner) return;
  await withProgress(
    io,
    "Waiting until no run is active",
    withGateway(io, state, async (client) => {
      for (const until = Date.now() + mostMs; Date.now() < until;) {
        if ((await client.call("gateway.restart.preflight", {}, preflight)).safe) return;
        await sleep(LOOK_EVERY_MS);
      }
    }),
  );
}

/** Variables of this terminal that the gateway reads. A token that is named by hand holds, and not the one of a variable. */
async function secretsFor(
  { env, contributions }: Io,
  { load }: State,
  { token }: InstallFlags,
): Promise<ReadonlyMap<string, string>> {
  const { needed, found } = serviceVariables(await loadConfig(load), { env, contributions });
  const names = [...needed, ...found].filter((name) => token === undefined || name !== TOKEN_VARIABLE);
  return new Map(names.map((name) => [name, env[name] ?? ""]));
}

/** Makes the token that clients must show the one that every start finds. Throws USAGE when the config names another one. */
async function keepToken(token: string, { paths, config }: State): Promise<void> {
  const named = config.gateway.auth.token;
  if (named && named.reveal() !== token)
    throw new OpenClawError("USAGE", {
      message: "The config names another token in gateway.auth.token.",
      fix: "Leave --token out, or take that one out: openclaw config unset gateway.auth.token",
    });
  if (named) return;
  await makePrivateDir(paths.credentials);
  await writeAtomic(gatewayTokenFile(paths), `${token}\n`);
}

/**
 * Writes variables into the service's file, mode 0600, beside those that it has and that no longer count. Returns the names that were
 * written: a value of several lines is not.
 */
async function keepSecrets(
  file: string,
  wanted: ReadonlyMap<string, string>,
  outdated: readonly string[],
): Promise<readonly string[]> {
  const secrets = new Map([...wanted].filter(([, value]) => !/[\r\n\0]/.test(value)));
  const before = (await readTextFile(file)) ?? "";
  if (secrets.size === 0 && before === "") return [];
  const gone = new Set([...secrets.keys(), ...outdated]);
  const others = before.split("\n").filter((line) => line !== "" && !gone.has(line.split("=")[0] ?? ""));
  const lines = [...others, ...[...secrets].map(([name, value]) => `${name}=${quoted(value)}`)];
  await makePrivateDir(dirname(file));
  await writeAtomic(file, `${lines.join("\n")}\n`);
  return [...secrets.keys()];
}

/** A value that systemd and a shell read alike. */
const quoted = (value: string): string =>
  /^[\w@%+=:,./-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`;
