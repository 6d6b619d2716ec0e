import { existsSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { acquireStateLock, readStateLock } from "../../../store/lock/lock.ts";
import { OpenClawError, sentences } from "../../../types/errors.ts";
import { isInside } from "../../../utils/real-path.ts";
import { journalPath } from "../../config/paths.ts";
import { resolveAgents } from "../../config/settings.ts";
import { isKnownFolder } from "../../growth/things.ts";
import { installedRoot } from "../../package-root.ts";
import type { ServiceState } from "../../service/manager.ts";
import { canAsk, confirmed } from "../ask.ts";
import type { Io } from "../io.ts";
import { type Removal, refuseWide, remove } from "../removal.ts";
import { readState, type State } from "../state.ts";
import { removeService, serviceOf } from "./gateway/gateway-service.ts";

/** Parts that `uninstall` can remove. `app` is one of the field's; this gateway has none. */
export const PARTS = ["service", "state", "workspace", "app"] as const;
export type UninstallPart = (typeof PARTS)[number];
/** What `reset` removes, in the words of the field. */
export type RemovalScope = "config" | "config+creds+sessions" | "full";

/** Whether a removal is only shown, is asked about first, or is done. */
export type RemovalMode = "show" | "ask" | "do";

/** `uninstall`: the parts that are named. The package itself is npm's to remove. */
export async function uninstall(io: Io, parts: readonly UninstallPart[], mode: RemovalMode): Promise<number> {
  const wanted = parts.length > 0 || mode === "show" ? parts : await askedPart(io);
  const state = await readState(io);
  const wants = (part: UninstallPart) => wanted.includes(part) || (mode === "show" && wanted.length === 0);
  const places = placesOf(io, state);
  const removals = [
    ...(wants("state") ? stateRemovals(places, wants("workspace") ? [] : places.workspaces) : []),
    ...(wants("workspace") ? places.workspaces.map(whole) : []),
  ];
  const service = wants("service") ? await serviceOf(io) : undefined;
  await refuseOthers(state, places, { removals, sparesWorkspaces: wants("state") && !wants("workspace") });
  // Only the gateway of the service is ended by this.
  if (mode !== "show" && removals.length > 0) await refuseRunning(places.stateDir, service?.state);
  const lines = [
    ...(service ? [`the service ${service.manager.name} (${service.manager.file})`] : []),
    ...(await linesOf(removals)),
  ];
  const isDone = await carryOut(io, { lines, mode }, async () => {
    if (service) io.out(`Removed ${await removeService(io)}.\n`);
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
      ...stateRemovals(places, [places.versions, ...workspaces]),
      ...workspaces.map(whole),
    ],
  }[scope];
  await refuseOthers(state, places, { removals, sparesWorkspaces: scope === "config+creds+sessions" });
  if (mode !== "show") await refuseRunning(stateDir);
  const isDone = await carryOut(io, { lines: await linesOf(removals), mode }, () => removeAll(places, removals));
  if (isDone && scope !== "config") {
    const hasService = (await serviceOf(io)) !== undefined;
    io.out(`Next: openclaw onboard${hasService ? ", then for the service: openclaw gateway install" : ""}\n`);
  }
  return 0;
}

interface Wanted {
  readonly removals: readonly Removal[];
  /** Whether workspaces within what goes are to stay. */
  readonly sparesWorkspaces: boolean;
}

/** Throws when something would go that may not be the gateway's. Nothing was shown or removed until then. */
async function refuseOthers(state: State, places: Places, { removals, sparesWorkspaces }: Wanted): Promise<void> {
  const there = removals.filter(({ path }) => existsSync(path));
  if (sparesWorkspaces && there.length > 0) refuseUnknown(state);
  if (there.some(({ isState }) => isState)) await refuseNoState(places);
  const { home, stateDir, versions } = places;
  const program = (await isBelow(installedRoot(), versions)) ? [] : [installedRoot()];
  // A workspace around the state directory has more in it than a workspace.
  for (const { path, isState } of there) await refuseWide(path, [home, ...program, ...(isState ? [] : [stateDir])]);
}

const isBelow = async (path: string, root: string): Promise<boolean> =>
  isInside(path, root) || isInside(path, await realpath(root).catch(() => root));

/** Throws when there is no config that says which directories are workspaces, which are to stay. */
function refuseUnknown({ problem, paths }: State): void {
  const unknown = "Nothing was removed, because ";
  const fix = "To remove workspaces too: openclaw uninstall --state --workspace";
  if (problem)
    throw new OpenClawError(problem.code, {
      message: `${unknown}the config does not say which directories are workspaces. ${problem.message}`,
      fix: sentences(problem.fix, fix),
      cause: problem,
    });
  if (existsSync(paths.configPath)) return;
  throw new OpenClawError("CONFIG_UNREADABLE", {
    message: `${unknown}no config says which directories of ${paths.stateDir} are workspaces: ${paths.configPath} is missing.`,
    fix: `Put it back, or look what is there: openclaw uninstall --dry-run. ${fix}`,
  });
}

/** Throws USAGE when the state directory has things in it and none is a gateway's. */
async function refuseNoState({ stateDir, configPath, journal }: Places): Promise<void> {
  for (const mark of [configPath, journal]) if (existsSync(mark) && (await isBelow(dirname(mark), stateDir))) return;
  const entries = await readdir(stateDir, { withFileTypes: true });
  // A directory that was reset has folders that are empty, and copies of the config.
  const other = entries.find((entry) =>
    entry.isDirectory() ? !isKnownFolder(entry.name) : !entry.name.startsWith("openclaw.json"),
  );
  if (!other) return;
  throw new OpenClawError("USAGE", {
    message: `${stateDir} has neither a config nor a journal of a gateway, but ${other.name}, so nothing was removed.`,
    fix: "Check OPENCLAW_STATE_DIR and --profile. A directory that you do not need goes by hand.",
  });
}

interface Places {
  readonly stateDir: string;
  readonly configPath: string;
  readonly journal: string;
  readonly versions: string;
  readonly workspaces: readonly string[];
  readonly home: string;
}

function placesOf(io: Io, { paths, config }: State): Places {
  const home = io.env["HOME"] ?? homedir();
  const agents = resolveAgents(config, { home, stateDir: paths.stateDir });
  const workspaces = [...new Set(agents.map(({ workspace }) => resolve(workspace)))];
  const { stateDir, configPath } = paths;
  return {
    stateDir,
    configPath,
    journal: journalPath(paths),
    versions: join(stateDir, "versions"),
    workspaces,
    home,
  };
}

const whole = (path: string): Removal => ({ path, stays: [] });

/** The state directory, and a config that lies elsewhere. */
const stateRemovals = ({ stateDir, configPath }: Places, stays: readonly string[]): readonly Removal[] => [
  { path: stateDir, stays, last: configPath, isState: true },
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
async function removeAll({ stateDir }: Places, removals: readonly Removal[]): Promise<void> {
  const lock = existsSync(stateDir) && removals.length > 0 ? await acquireStateLock(stateDir) : undefined;
  try {
    for (const removal of removals) await remove(removal);
  } finally {
    await lock?.release();
  }
}
