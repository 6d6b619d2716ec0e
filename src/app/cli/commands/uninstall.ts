import { existsSync } from "node:fs";
import { lstat, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { acquireStateLock, readStateLock } from "../../../store/lock/lock.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { errorCode, unlessMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";
import { resolveAgents } from "../../config/settings.ts";
import { installedRoot } from "../../package-root.ts";
import type { ServiceState } from "../../service/manager.ts";
import { canAsk, confirmed } from "../ask.ts";
import type { Io } from "../io.ts";
import { readState, type State } from "../state.ts";
import { serviceOf, serviceUninstall } from "./gateway/gateway-service.ts";

/** Parts that `uninstall` can remove. `app` is one of the field's; this gateway has none. */
export const PARTS = ["service", "state", "workspace", "app"] as const;
export type UninstallPart = (typeof PARTS)[number];
/** What `reset` removes, in the words of the field. */
export type RemovalScope = "config" | "config+creds+sessions" | "full";

/** Whether a removal is only shown, is asked about first, or is done. */
export type RemovalMode = "show" | "ask" | "do";

/** A file or directory that is to go, without the paths in it that stay. */
interface Removal {
  readonly path: string;
  readonly stays: readonly string[];
  /** The state directory: a link to it is followed. */
  readonly isState?: true;
}

/** `uninstall`: the parts that are named. The package itself is npm's to remove. */
export async function uninstall(io: Io, parts: readonly UninstallPart[], mode: RemovalMode): Promise<number> {
  const wanted = parts.length > 0 || mode === "show" ? parts : await askedPart(io);
  const state = await readState(io);
  const wants = (part: UninstallPart) => wanted.includes(part) || (mode === "show" && wanted.length === 0);
  if (wants("state") && !wants("workspace")) refuseUnknown(state);
  const places = placesOf(io, state);
  const removals = [
    ...(wants("state") ? stateRemovals(places, wants("workspace") ? [] : places.workspaces) : []),
    ...(wants("workspace") ? places.workspaces.map(whole) : []),
  ];
  const service = wants("service") ? await serviceOf(io) : undefined;
  const lines = [
    ...(service ? [`the service ${service.manager.name} (${service.manager.file})`] : []),
    ...(await linesOf(removals)),
  ];
  const isDone = await carryOut(io, { lines, mode }, async () => {
    // Only the gateway of the service is ended by this. Another one is found before anything goes.
    if (removals.length > 0) await refuseRunning(places.stateDir, service?.state);
    if (service) await serviceUninstall(io, {});
    await removeAll(places, removals);
  });
  if (isDone) io.out("The program itself goes with: npm uninstall -g claw-gateway\n");
  return 0;
}

async function askedPart(io: Io): Promise<readonly UninstallPart[]> {
  if (canAsk(io) && (await confirmed("Remove the service? (--state, --workspace and --all remove more)")))
    return ["service"];
  throw new OpenClawError("USAGE", {
    message: "Nothing is named that is to go.",
    fix: "Name it: --service, --state, --workspace or --all. What would go is shown by: openclaw uninstall --dry-run",
  });
}

/** `reset`: the directory is as before the first start, as far as the scope goes. */
export async function reset(io: Io, scope: RemovalScope, mode: RemovalMode): Promise<number> {
  const state = await readState(io);
  if (scope === "config+creds+sessions") refuseUnknown(state);
  const places = placesOf(io, state);
  const { stateDir, configPath, workspaces } = places;
  const below = (...names: readonly string[]) =>
    names.map((name): Removal => ({ path: join(stateDir, name), stays: workspaces }));
  const config = [whole(configPath)];
  const removals = {
    config,
    // Conversations are transcripts, their files, and rows of the journal, which also has jobs and the people who were let in.
    "config+creds+sessions": [
      ...below("credentials", "agents", "sessions", "media", "state", "service-env/gateway.env"),
      // The last: until then it says which directories are workspaces, if this is killed and run again.
      ...config,
    ],
    full: [
      // The versions of updates are the program.
      ...stateRemovals(places, [join(stateDir, "versions"), ...workspaces]),
      ...workspaces.map(whole),
    ],
  }[scope];
  const isDone = await carryOut(io, { lines: await linesOf(removals), mode }, async () => {
    await refuseRunning(stateDir);
    await removeAll(places, removals);
  });
  if (isDone && scope !== "config") {
    const hasService = (await serviceOf(io)) !== undefined;
    io.out(`Next: openclaw onboard${hasService ? ", then for the service: openclaw gateway install" : ""}\n`);
  }
  return 0;
}

/** Throws the problem of a config that cannot be read: it does not say which directories are workspaces, and those stay. */
function refuseUnknown({ problem }: State): void {
  if (!problem) return;
  throw new OpenClawError(problem.code, {
    message: `Nothing was removed, because the config does not say which directories are workspaces. ${problem.message}`,
    fix: `${problem.fix} To remove workspaces too: openclaw uninstall --state --workspace`,
    cause: problem,
  });
}

interface Places {
  readonly stateDir: string;
  readonly configPath: string;
  readonly workspaces: readonly string[];
  readonly home: string;
}

function placesOf(io: Io, { paths, config }: State): Places {
  const home = io.env["HOME"] ?? homedir();
  const agents = resolveAgents(config, { home, stateDir: paths.stateDir });
  const workspaces = [...new Set(agents.map(({ workspace }) => resolve(workspace)))];
  return { stateDir: paths.stateDir, configPath: paths.configPath, workspaces, home };
}

const whole = (path: string): Removal => ({ path, stays: [] });

/** The state directory, and a config that lies elsewhere. */
const stateRemovals = ({ stateDir, configPath }: Places, stays: readonly string[]): readonly Removal[] => [
  { path: stateDir, stays, isState: true },
  ...(isInside(configPath, stateDir) ? [] : [whole(configPath)]),
];

/** What of it is there, for people. */
async function linesOf(removals: readonly Removal[]): Promise<readonly string[]> {
  const there = removals.filter(({ path }) => existsSync(path));
  return Promise.all(
    there.map(async ({ path, stays }) => {
      const real = await realpath(path);
      const kept = stays.filter((one) => isInside(one, path) && existsSync(one));
      return `${path}${real === path ? "" : ` (${real})`}${kept.length === 0 ? "" : `, but not ${kept.join(", ")}`}`;
    }),
  );
}

interface Shown {
  readonly lines: readonly string[];
  readonly mode: RemovalMode;
}

/** Does the work after a yes. Resolves with whether it was done. Rejects with USAGE where nobody can say it. */
async function carryOut(io: Io, { lines, mode }: Shown, work: () => Promise<void>): Promise<boolean> {
  if (lines.length === 0) {
    io.out("There is nothing to remove.\n");
    return false;
  }
  io.out(`${mode === "do" ? "Removing" : "This would go"}:\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
  if (mode === "show") return false;
  if (mode === "ask") {
    if (!canAsk(io))
      throw new OpenClawError("USAGE", {
        message: "Nobody can be asked here, so nothing was removed.",
        fix: "Add --yes. A copy before it: openclaw backup create",
      });
    if (!(await confirmed("Remove it for good? A copy before it: openclaw backup create."))) return false;
  }
  await work();
  return true;
}

/** Throws STATE_LOCKED while a gateway runs on the directory that is not the one of the service. */
async function refuseRunning(stateDir: string, service?: ServiceState): Promise<void> {
  const lock = await readStateLock(stateDir);
  if (lock?.alive !== true) return;
  if (service?.running === true && (service.pid === undefined || service.pid === lock.pid)) return;
  throw new OpenClawError("STATE_LOCKED", {
    message: `A gateway runs on ${stateDir} (pid ${lock.pid}), so nothing was removed.`,
    fix: "Stop it first: openclaw gateway stop",
  });
}

/** No gateway starts on the directory meanwhile. */
async function removeAll({ stateDir, home }: Places, removals: readonly Removal[]): Promise<void> {
  const homes = [home, await realpath(home).catch(() => home)];
  const state = await realpath(stateDir).catch(() => stateDir);
  for (const { path, isState } of removals) {
    const real = await realpath(path).catch(() => path);
    // A workspace around the state directory has more in it than a workspace.
    const inside = [...homes, installedRoot(), ...(isState ? [] : [state, stateDir])];
    if (existsSync(path)) refuseWide([path, real], inside);
  }
  const lock = existsSync(stateDir) && removals.length > 0 ? await acquireStateLock(stateDir) : undefined;
  try {
    for (const removal of removals) await remove(removal);
  } finally {
    await lock?.release();
  }
}

/** A directory with more in it than the gateway's files is not removed, whatever the config calls it. */
function refuseWide(names: readonly string[], inside: readonly string[]): void {
  const wide = names.find((path) => path === dirname(path) || inside.some((other) => isInside(other, path)));
  if (wide === undefined) return;
  throw new OpenClawError("USAGE", {
    message: `${wide} has more in it than files of the gateway, so nothing was removed.`,
    fix: "Remove what you do not need there by hand.",
  });
}

/**
 * Removes a file, or a directory without the paths in it that stay. Only the link to the state directory itself is followed; of any other
 * link, such as to a config among a person's own files, the link alone goes.
 */
async function remove({ path, stays, isState }: Removal): Promise<void> {
  const isLink = (await unlessMissing(lstat(path)))?.isSymbolicLink() === true;
  if (isLink && !isState) return rm(path, { force: true });
  const real = await realpath(path).catch(() => path);
  const kept = [...stays, ...(await Promise.all(stays.map((one) => realpath(one).catch(() => one))))];
  if (!kept.includes(real)) await emptied(real, kept);
  // The link still leads to what stays.
  if (real !== path && !existsSync(real)) await rm(path, { force: true });
}

async function removeBelow(path: string, stays: readonly string[]): Promise<void> {
  if (stays.includes(path)) return;
  if (!stays.some((one) => isInside(one, path))) return rm(path, { recursive: true, force: true });
  await emptied(path, stays);
}

/** Removes a file, or what is in a directory, and the directory itself once it is empty and no volume of a container. */
async function emptied(path: string, stays: readonly string[]): Promise<void> {
  if ((await unlessMissing(lstat(path)))?.isDirectory() !== true) return rm(path, { force: true });
  for (const name of await readdir(path)) await removeBelow(join(path, name), stays);
  if ((await readdir(path)).length > 0) return;
  await rmdir(path).catch((error: unknown) => {
    if (errorCode(error) !== "EBUSY") throw error;
  });
}
