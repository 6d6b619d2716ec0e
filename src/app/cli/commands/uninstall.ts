import { existsSync } from "node:fs";
import { readdir, realpath, rm, rmdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { acquireStateLock, readStateLock } from "../../../store/lock/lock.ts";
import { OpenClawError, sentences } from "../../../types/errors.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";
import { journalPath } from "../../config/paths.ts";
import { resolveAgents } from "../../config/settings.ts";
import { isKnownFolder } from "../../growth/things.ts";
import { installedRoot } from "../../package-root.ts";
import type { ServiceState } from "../../service/manager.ts";
import { askLine, canAsk, confirmed } from "../ask.ts";
import { writeJson, type Io } from "../io.ts";
import { type Removal, refuseWide, remove } from "../removal.ts";
import { readState, type State } from "../state.ts";
import { removeService, serviceOf } from "./gateway/gateway-service.ts";

/** Parts that `uninstall` can remove. `app` is one of the field's: here it is the code that Node has compiled of the program. */
export const PARTS = ["service", "state", "workspace", "app"] as const;
export type UninstallPart = (typeof PARTS)[number];
/** What `reset` removes, in the words of the field. */
export type RemovalScope = "config" | "config+creds+sessions" | "full";

/** How a removal is done. `mode`: it is only shown, is asked about first, or is done. */
export interface Removing {
  readonly mode: "show" | "ask" | "do";
  readonly json: boolean;
}

/** `uninstall`: the parts that are named. The package itself is npm's to remove. */
export async function uninstall(io: Io, parts: readonly UninstallPart[], how: Removing): Promise<number> {
  const { mode } = how;
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
  const going = { service: service?.manager, things: await thingsOf(removals), all: wanted.length === 0 };
  const isDone = await carryOut(io, going, how, async () => {
    const name = service && (await removeService(io));
    if (name !== undefined && !how.json) io.out(`Removed ${name}.\n`);
    await removeAll(places, removals);
    if (wants("app")) await removeCompiled(io);
  });
  if (isDone && !how.json) io.out("The program itself goes with: npm uninstall -g claw-gateway\n");
  return 0;
}

/** Removes what bin/openclaw.mjs lets Node keep, and nothing where the operator has named another folder for it. */
async function removeCompiled({ env }: Io): Promise<void> {
  if (env["NODE_COMPILE_CACHE"]) return;
  const folder = join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "openclaw");
  // At its end Node would write there what this command has loaded.
  const { flushCompileCache } = await import("node:module");
  flushCompileCache();
  await rm(join(folder, "compile"), { recursive: true, force: true });
  // Another program may have files in it.
  if (((await unlessMissing(readdir(folder))) ?? [""]).length === 0) await rmdir(folder);
}

async function askedPart(io: Io): Promise<readonly UninstallPart[]> {
  if (canAsk(io) && (await confirmed("Remove the service? (--state, --workspace and --all remove more)")))
    return ["service"];
  throw new OpenClawError("USAGE", {
    message: "Nothing is named that is to go.",
    fix: "Name it: --service, --state, --workspace or --all. What would go is shown by: openclaw uninstall --dry-run",
  });
}

const SCOPES = {
  config: "the config",
  "config+creds+sessions": "also keys, people who were let in, conversations, files, jobs and the journal",
  full: "everything, with the workspaces",
} as const satisfies Record<RemovalScope, string>;

/** The scope that a person at the terminal chooses. Throws USAGE where there is none, and when none is chosen. */
async function askedScope(io: Io, { mode }: Removing): Promise<RemovalScope> {
  const scopes = Object.entries(SCOPES).flatMap(([scope, what]) => (isScope(scope) ? [{ scope, what }] : []));
  if (mode !== "do" && canAsk(io)) {
    io.err(`What is to go?\n${scopes.map(({ scope, what }, at) => `  ${at + 1}  ${scope}: ${what}\n`).join("")}`);
    const answer = (await askLine(`1 to ${scopes.length}, or Enter for nothing: `)).trim();
    const chosen = scopes.find(({ scope }, at) => answer === scope || answer === String(at + 1));
    if (chosen) return chosen.scope;
  }
  throw new OpenClawError("USAGE", {
    message: "Nothing is named that is to go.",
    fix: "Name it, and look first: openclaw reset --scope full --dry-run (or config, or config+creds+sessions)",
  });
}

const isScope = (text: string): text is RemovalScope => Object.hasOwn(SCOPES, text);

/** `reset`: the directory is as before the first start, as far as the scope goes. A person at a terminal is asked for one that is not given. */
export async function reset(io: Io, given: RemovalScope | undefined, how: Removing): Promise<number> {
  const { mode } = how;
  const scope = given ?? (await askedScope(io, how));
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
  const isDone = await carryOut(io, { things: await thingsOf(removals) }, how, () => removeAll(places, removals));
  if (isDone && scope !== "config" && !how.json) {
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

/** A file or directory that goes, and what of it stays. */
interface Thing {
  readonly path: string;
  /** Where the links in it lead. */
  readonly real: string;
  readonly stays: readonly string[];
}

/** What of it is there. */
async function thingsOf(removals: readonly Removal[]): Promise<readonly Thing[]> {
  const there = removals.filter(({ path }) => existsSync(path));
  return Promise.all(
    there.map(async ({ path, stays }) => ({
      path,
      real: await realpath(path),
      stays: stays.filter((one) => isInside(one, path) && existsSync(one)),
    })),
  );
}

interface Going {
  readonly service?: { readonly name: string; readonly file: string } | undefined;
  readonly things: readonly Thing[];
  /** Nothing was named, so this is what could go. */
  readonly all?: boolean;
}

/** Does the work after a yes. Resolves with whether it was done. Rejects with USAGE where nobody can say it. */
async function carryOut(io: Io, going: Going, { mode, json }: Removing, work: () => Promise<void>): Promise<boolean> {
  const { service, things, all = false } = going;
  const lines = [
    ...(service ? [`the service ${service.name} (${service.file})`] : []),
    ...things.map(
      ({ path, real, stays }) =>
        `${path}${real === path ? "" : ` (${real})`}${stays.length === 0 ? "" : `, but not ${stays.join(", ")}`}`,
    ),
  ];
  const tell = json ? io.err : io.out;
  const answer = (removed: boolean) => {
    if (json) writeJson(io, { dryRun: mode === "show", removed, service: service?.name ?? null, paths: things });
    return removed;
  };
  if (lines.length === 0) {
    if (!json) io.out("There is nothing to remove.\n");
    return answer(false);
  }
  const head = mode === "do" ? "Removing" : `${all ? "With --all this" : "This"} would go`;
  if (!json || mode === "ask") tell(`${head}:\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
  if (mode === "show") return answer(false);
  if (mode === "ask") {
    if (!canAsk(io))
      throw new OpenClawError("USAGE", {
        message: "Nobody can be asked here, so nothing was removed.",
        fix: "Add --yes. A copy before it: openclaw backup create",
      });
    if (!(await confirmed("Remove it for good? A copy before it: openclaw backup create."))) return answer(false);
  }
  await work();
  return answer(true);
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
