import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, basename, isAbsolute, normalize } from "node:path";
import type { Launch, Launcher, PreparedLaunch } from "../../types/run/backend.ts";
import { isContainer, type SandboxSettings } from "../../types/sandbox.ts";
import type { EngineFacts, View } from "../../types/sandbox-engine.ts";
import { outputFolder, outputRoot } from "../host/output-folders.ts";
import type { GuestRules } from "../host/access.ts";
import { bwrapLaunch, withoutGateway } from "./bwrap.ts";
import { folderOf, openFolder, type SandboxOwner } from "./folders.ts";
import type { MachineFacts, BackendProbe, SandboxMachine, OpenView } from "./machine.ts";
import type { Warn } from "./watch.ts";
import { seatbeltLaunch } from "./seatbelt.ts";
import { background } from "../../utils/background.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import type { GuestCopy } from "./guest-copy.ts";
import { viewOf } from "./view.ts";

/** The sandbox of one run. */
export interface SandboxPlace {
  readonly settings: SandboxSettings;
  readonly machine: SandboxMachine;
  readonly owner: SandboxOwner;
  readonly workspace: string;
  readonly rights: "owner" | GuestRules;
  /** Directories outside the workspace that commands may read. */
  readonly readable: readonly string[];
  /** The gateway's own files. */
  readonly hidden: readonly string[];
  readonly home: string;
  /** Reports to the operator files that a command left and should not have; unset without a reader. */
  readonly warn?: Warn;
}

/** Variable that names the sandbox's own folder to commands that cannot write the workspace. */
export const FOLDER_VARIABLE = "OPENCLAW_FOLDER";

/** Text for the model, or the operator, about a sandbox that does not work. */
export const unusableText = (probe: Extract<BackendProbe, { ok: false }>): string =>
  `The sandbox does not work on this machine: ${probe.why}. The config (agents.defaults.sandbox) lets this session's tools work ` +
  `nowhere else. The operator can mend it: ${probe.fix}`;

/**
 * Starts processes inside the sandbox. Rejects where the sandbox does not work; nothing is ever started outside
 * instead.
 */
export function sandboxLauncher(place: SandboxPlace): Launcher {
  return {
    async prepare(launch) {
      const probe = await place.machine.probe(place.settings);
      if (!probe.ok) throw new Error(`The command was not run. ${unusableText(probe)}`);
      const { view, close, note: ofCopy } = await lookUp(place);
      try {
        const { ended, ...inner } = await inside({ launch: withFolder(launch, place), view, place }, probe.facts);
        return {
          ...inner,
          async ended(end) {
            const notes = [ofCopy, await ended?.(end)].filter((note) => note !== undefined);
            close();
            return notes.length === 0 ? undefined : notes.join(" ");
          },
        };
      } catch (error) {
        close();
        throw error;
      }
    },
  };
}

const withFolder = (launch: Launch, { settings, rights, owner }: SandboxPlace): Launch =>
  commandAccess(settings, rights) === "rw"
    ? launch
    : { ...launch, env: { ...launch.env, [FOLDER_VARIABLE]: folderOf(settings, owner) } };

interface Starting {
  readonly launch: Launch;
  readonly view: View;
  readonly place: SandboxPlace;
}

async function inside({ launch, view, place }: Starting, facts: MachineFacts): Promise<PreparedLaunch> {
  switch (facts.backend) {
    case "bwrap":
      return bwrapLaunch(launch, view, facts, place.settings.bwrap);
    case "sandbox-exec": {
      const own = await mkdtemp(join(await realOf(tmpdir()), "openclaw-"));
      return {
        ...seatbeltLaunch(launch, view, { program: facts.program, own }, place.settings.bwrap),
        async ended() {
          background("removal of a sandbox's own directory", rm(own, { recursive: true, force: true }));
          return undefined;
        },
      };
    }
    default:
      return inContainer({ launch, view, place }, facts);
  }
}

/** Rejects when the engine of the trial is gone. */
async function inContainer({ launch, view, place }: Starting, facts: EngineFacts): Promise<PreparedLaunch> {
  const { settings, machine, owner, warn = () => {} } = place;
  const engine = await machine.engine(facts.backend);
  if (!engine) throw new Error(`The command was not run: no extension runs ${facts.backend}.`);
  const command = { ...launch, env: withoutGateway(launch.env) };
  return engine.prepare({ launch: command, view, settings, owner, warn, doubt: () => machine.doubt(settings) }, facts);
}

async function lookUp(place: SandboxPlace): Promise<OpenView & Pick<GuestCopy, "note">> {
  const { settings, owner, workspace, rights, readable, hidden, home, machine } = place;
  await checkSettings(settings, { home, hidden });
  await openFolder(settings, owner, Date.now());
  const { ro } = readBinds(settings.bwrap.binds);
  const visible = workspaceInside(place);
  const isSeen = commandAccess(settings, rights) === "ro";
  const copy = isSeen && rights !== "owner" ? await copyFor(rights, place) : undefined;
  const outside = copy ? await outsideOf(copy.workspace, readable) : readable;
  const shown = [...outside, ...(await received(rights)), ...ro, ...(isSeen && rights === "owner" ? [workspace] : [])];
  const opened = await machine.views.open((isSteady) =>
    viewOf({
      writable: writableIn(place),
      readable: shown,
      hidden,
      copy,
      outputs: { root: outputRoot(visible), own: outputFolder(visible, owner.sessionKey) },
      home,
      isSteady,
    }),
  );
  return { ...opened, ...(copy?.note !== undefined && { note: copy.note }) };
}

/** The copy of the workspace for a guest's command. */
async function copyFor(
  { notes, prompts, received: { dir } }: GuestRules,
  { machine, workspace, hidden, settings }: SandboxPlace,
): Promise<GuestCopy | undefined> {
  const closed = [...hidden, dir, settings.workspaceRoot];
  return machine.copies.of({ workspace, workspaces: [workspace, ...prompts.workspaces], notes, closed });
}

/** Paths outside the workspace. A directory of skills inside is in the copy. */
async function outsideOf(workspace: string, paths: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(paths.map(realOf));
  return paths.filter((_, index) => !isInside(real[index] ?? "", workspace));
}

/** The directories that commands may write. Pure. */
export function writableIn({ settings, owner, workspace, rights }: SandboxPlace): readonly string[] {
  const own = commandAccess(settings, rights) === "rw" ? workspace : folderOf(settings, owner);
  return [own, ...readBinds(settings.bwrap.binds).rw];
}

/**
 * Access of commands to the workspace. A guest's command never writes the workspace, where files are that act on
 * everybody.
 */
export const commandAccess = (
  { workspaceAccess }: Pick<SandboxSettings, "workspaceAccess">,
  rights: SandboxPlace["rights"] | "guest",
): SandboxSettings["workspaceAccess"] => (workspaceAccess === "rw" && rights !== "owner" ? "ro" : workspaceAccess);

/** The files of a guest's own conversation. */
async function received(rights: SandboxPlace["rights"]): Promise<readonly string[]> {
  if (rights === "owner") return [];
  return [...(await rights.received.own())].map((name) => join(rights.received.dir, name));
}

/** Rejects when the settings would open the sandbox. */
async function checkSettings(
  { bwrap, docker }: SandboxSettings,
  { home, hidden }: Pick<SandboxPlace, "home" | "hidden">,
): Promise<void> {
  const { ro, rw } = readBinds(bwrap.binds);
  for (const path of [...ro, ...rw]) await checkBind(path, home);
  // An engine shows the whole content of a directory; bubblewrap leaves out hidden files.
  for (const bind of docker.binds) await checkBind(sourceOf(bind), home, hidden);
  if (sharesNetwork(docker.network))
    throw new Error(`The sandbox cannot have the network "${docker.network}": it reaches services of the machine.`);
}

/** Whether a network is not the container's own, or leads to the machine's. */
const sharesNetwork = (network: string): boolean =>
  network === "host" || /^(?:container|ns|pasta):|allow_host_loopback/.test(network);

/** The directories that the settings let containers write. Pure. */
export const writableBinds = ({ binds }: Pick<SandboxSettings["docker"], "binds">): readonly string[] =>
  binds.filter((bind) => !bind.endsWith(":ro")).map(sourceOf);

const sourceOf = (bind: string): string => bind.split(":")[0] ?? bind;

/** Whether commands can neither reach a network nor write outside the workspace and their own folder. */
export function isIsolated({ settings, machine }: Pick<SandboxPlace, "settings" | "machine">): boolean {
  const probe = machine.known(settings);
  if (probe?.ok !== true) return false;
  const { bwrap, docker } = settings;
  if (isContainer(probe.facts.backend)) return docker.network === "none" && writableBinds(docker).length === 0;
  return bwrap.network === "none" && readBinds(bwrap.binds).rw.length === 0;
}

/** The folder that takes the place of the workspace where the workspace is not visible. */
export const workspaceInside = ({
  settings,
  owner,
  workspace,
}: Pick<SandboxPlace, "settings" | "owner" | "workspace">): string =>
  settings.workspaceAccess === "none" ? folderOf(settings, owner) : workspace;

/** Directories that no sandbox gets, nor one above or below them: the system's settings, and credentials. */
const SYSTEM = ["/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run"];
const OF_HOME = [".aws", ".cargo", ".config", ".docker", ".gnupg", ".netrc", ".npm", ".ssh"];
const SOCKETS = new Set(["docker.sock", "podman.sock", "containerd.sock"]);

/**
 * Rejects with a text that names the bind when it would open closed directories to a sandbox, by its name or by the
 * target of its links: `hidden` are the gateway's own files.
 */
async function checkBind(path: string, home: string, hidden: readonly string[] = []): Promise<void> {
  if (!isAbsolute(path)) throw new Error(`The sandbox cannot have ${path}: a bind is an absolute path.`);
  const closed = [...SYSTEM, ...OF_HOME.map((name) => join(home, name)), ...hidden];
  const real = await realOf(path);
  const roots = [...closed, ...(await Promise.all(closed.map(realOf)))];
  const isClosed = (one: string) => roots.some((root) => isInside(one, root) || isInside(root, one));
  if ([normalize(path), real].some((one) => isClosed(one) || SOCKETS.has(basename(one))))
    throw new Error(
      `The sandbox cannot have ${path}: it holds the system's settings, credentials, the gateway's files or a door out.`,
    );
}

/** The binds of `bwrap`: `path` for reading, `path:rw` for writing too. */
function readBinds(binds: readonly string[]): {
  readonly ro: readonly string[];
  readonly rw: readonly string[];
} {
  const isWritable = (bind: string) => bind.endsWith(":rw");
  const pathOf = (bind: string) => bind.replace(/:r[ow]$/, "");
  return {
    ro: binds.filter((bind) => !isWritable(bind)).map(pathOf),
    rw: binds.filter(isWritable).map(pathOf),
  };
}
