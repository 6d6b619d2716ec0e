import { stat, access, constants, lstat, readdir, realpath, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve, dirname } from "node:path";
import type {
  Backends,
  CommandEnd,
  ExecBackend,
  FileBackend,
  Launcher,
  PreparedLaunch,
  RunningCommand,
  SteeredCommand,
  SteeringFiles,
} from "../../types/run/backend.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { AgentSettings, ExecSettings } from "../../types/settings.ts";
import { FileAccess, type GuestRules } from "./access.ts";
import { commandEnvironment, withAdded } from "./environment.ts";
import { HostFiles } from "./files.ts";
import { outputPath } from "./command/kept-outputs.ts";
import { newMark } from "./command/left-running.ts";
import { findProgram } from "./find-program.ts";
import { bindFiles, pathDirs, fileHash } from "./repository/named-files.ts";
import { outputFolder, outputRoot } from "./output-folders.ts";
import { shellArgv, startCommand, type HostCommand } from "./command/start-command.ts";
import { fileNamesIn } from "../exec/exec-names.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { createHash } from "node:crypto";
import { errorCode, isMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { namesOfProgram } from "../exec/programs/kinds.ts";
import { submodulesIn } from "./repository/git-index.ts";
import { hasCommand, REBASE_STEPS } from "./repository/rebase-steps.ts";
import { remotesIn, riskyIn } from "./repository/git-settings.ts";

export interface HostOptions {
  readonly settings: Pick<AgentSettings, "workspace" | "tools" | "exec" | "media">;
  /** The rights of the turn: an owner's, or a guest's with limits. */
  readonly rights: "owner" | GuestRules;
  /** Absolute paths of the gateway that no file tool may touch. */
  readonly deniedPaths: readonly string[];
  /** Absolute directories outside the workspace that may be read: received media, skills, docs. */
  readonly readablePaths?: readonly string[];
  /** The session whose long results are kept, and which alone reads them; one folder for all sessions when unset. */
  readonly sessionKey?: SessionKey;
  /** Prepares the start of each process; processes are started without preparation when unset. */
  readonly launcher?: Launcher;
  /** The gateway's state directory: its next process ends the commands that this one could not end. */
  readonly stateDir?: string;
}

const AS_THEY_ARE: Launcher = { prepare: (launch) => Promise.resolve(launch) };

/** The backends that reach the gateway's own machine. */
export function hostBackends(options: HostOptions): Backends {
  const rules = rulesOf(options);
  return { files: hostFiles(options, rules), exec: hostExec(options, rules) };
}

/** Files of the gateway's own machine. */
export const hostFiles = (options: HostOptions, rules = rulesOf(options)): FileBackend =>
  new HostFiles(new FileAccess({ ...rules, workspaceOnly: options.settings.tools.workspaceOnly }), rules.outputs.own);

/** The access rules. A command may start outside the workspace, but never in a directory of the gateway. */
function rulesOf({ settings, sessionKey, rights, deniedPaths, readablePaths = [] }: HostOptions) {
  const root = outputRoot(settings.workspace);
  const own = sessionKey === undefined ? root : outputFolder(settings.workspace, sessionKey);
  return {
    workspaceOnly: false,
    denied: deniedPaths,
    readable: [...readablePaths, own],
    outputs: { root, own },
    ...(rights !== "owner" && { guest: rights }),
  };
}

/** Commands on the gateway's own machine. */
export function hostExec(options: HostOptions, rules = rulesOf(options)): ExecBackend {
  const { launcher = AS_THEY_ARE, stateDir } = options;
  const settings = options.settings.exec;
  const outputDir = rules.outputs.own;
  const access = new FileAccess(rules);
  return {
    async directory(path, workspace) {
      const cwd = await access.locate(path, workspace, "read");
      if (!(await stat(cwd)).isDirectory()) throw new Error(`${path} is not a directory.`);
      return cwd;
    },
    whyClosed: (command, place) => whyClosed(command, { cwd: place.cwd, stateDir }),
    filesOf: (command, place) => bindFiles(command, { ...place, path: pathOf(settings) }),
    programOf: (word, place) => findProgram(word, { ...place, path: pathOf(settings) }),
    steeringOf: (command, place) => steeringOf(command, place.cwd),
    async start({ command, argv, cwd, env, input, timeoutMs }) {
      const launch = await launcher.prepare({
        argv: argv ?? shellArgv(command),
        cwd,
        env: withAdded(commandEnvironment(process.env, settings), env),
      });
      const outputFile = outputPath(outputDir);
      return startPrepared({ launch, input, timeoutMs, mark: newMark(stateDir), outputFile }, launch);
    },
  };
}

async function startPrepared(command: HostCommand, { ended, processes }: PreparedLaunch): Promise<RunningCommand> {
  try {
    const running = await startCommand(command);
    return {
      ...running,
      ...(processes && { processes }),
      ...(ended && { ended: settled(running.ended, ended) }),
    };
  } catch (error) {
    await ended?.();
    throw error;
  }
}

/** The end of a command, after the removal of its preparations. */
async function settled(
  ended: RunningCommand["ended"],
  settle: NonNullable<PreparedLaunch["ended"]>,
): Promise<CommandEnd> {
  const end = await ended;
  const note = await settle(end);
  return note === undefined ? end : { ...end, note };
}

const pathOf = ({ pathPrepend }: ExecSettings): readonly string[] => [...pathPrepend, ...pathDirs(process.env["PATH"])];

/**
 * Reason why a command may not run: it names the databases of a running gateway, which another program could damage.
 * Undefined when it names none. The check is no barrier: a program may open files that its words do not name. Never
 * rejects.
 */
async function whyClosed(
  command: string,
  { cwd, stateDir }: { readonly cwd: string; readonly stateDir: string | undefined },
): Promise<string | undefined> {
  if (stateDir === undefined) return undefined;
  const own = join(await realOf(stateDir), "state");
  const paths = fileNamesIn(command, { home: homedir(), cwd }).map((name) => resolve(cwd, name));
  const real = await Promise.all(paths.map((path) => realOf(path).catch(() => path)));
  return [...paths, ...real].some((path) => isInside(path, own))
    ? `it names files in ${own}, which the gateway has open; openclaw runs, sessions and usage read them`
    : undefined;
}

/** Programs that read Git's settings from their working directory, besides `git` and `git-…`. */
const READERS = new Set("gh glab hub tig gitk lazygit gitui jj stg".split(" "));
/** Words of Git's commands that open another repository, and run its hooks if the repository is on this machine. */
const TRANSFERS = /^(?:push|pull|fetch|clone|ls-remote|remote|send-pack|fetch-pack|--remote.*)$/;
/** Addresses of other machines: `host:path` and `scheme://host`. Any other address is a path of this machine. */
const ELSEWHERE = /^(?!file:)(?:[a-z][a-z0-9+.-]*:\/\/|[\w.@-]+:)/i;

const MOST_CONFIG_BYTES = 100_000;
const MOST_INDEX_BYTES = 64 * 1024 * 1024;
const MOST_SUBMODULES = 50;
const MOST_DEPTH = 3;

interface Finding {
  /** End of the sentence "It may start another program, because of". */
  readonly why: string;
  /** Changes with the content of the named file. */
  readonly content: string;
}

/**
 * The content of a repository that may make a program start another one, although the words of the command do not name
 * it: Git's settings, hooks, a rebase that is under way, and repositories on this machine that the program sends to.
 * Undefined when there is no such content, or when the program reads no repository. `cwd` is absolute and has no links.
 * Never rejects.
 */
async function steeringOf({ words, program }: SteeredCommand, cwd: string): Promise<SteeringFiles | undefined> {
  const names = [words[0], program?.path, program?.real];
  const programs = names.flatMap((name) => (name === undefined ? [] : namesOfProgram(name)));
  const found = [
    ...(programs.some(readsGit) ? await findingsOf(words, cwd) : []),
    ...(programs.includes("hg") ? await mercurialAbove(cwd) : []),
  ];
  const [first] = found;
  if (!first) return undefined;
  return { why: first.why, content: createHash("sha256").update(JSON.stringify(found)).digest("hex") };
}

const readsGit = (name: string): boolean => name === "git" || name.startsWith("git-") || READERS.has(name);

async function findingsOf(words: readonly string[], cwd: string): Promise<readonly Finding[]> {
  const repositories = await repositoriesAbove(cwd);
  const each = await Promise.all(
    repositories.map(async (one) => [...(await stepsIn(one, words)), ...(await inRepository(one, 0))]),
  );
  const found = each.flat();
  return words.some((word) => TRANSFERS.test(word)) ? [...found, ...(await nearbyIn(repositories, words, cwd))] : found;
}

async function inRepository(repository: Repository, depth: number): Promise<readonly Finding[]> {
  const { gitDir, commonDir, isOdd } = repository;
  if (isOdd) return [{ why: `${named(gitDir)}, which is not understood`, content: "" }];
  const settings = [...new Set([join(commonDir, "config"), join(gitDir, "config.worktree")])];
  const found = await Promise.all([
    ...settings.map(settingsIn),
    hooksIn(join(commonDir, "hooks")),
    submodulesOf(repository, depth),
  ]);
  return found.flat();
}

async function settingsIn(path: string): Promise<readonly Finding[]> {
  try {
    const text = (await readRegular(await realpath(path), MOST_CONFIG_BYTES)).toString("utf8");
    const risky = riskyIn(text);
    return risky === undefined ? [] : [{ why: `${risky} in ${named(path)}`, content: text }];
  } catch (error) {
    return isMissing(error) || errorCode(error) === "ENOTDIR"
      ? []
      : [{ why: `${named(path)}, which cannot be read`, content: "" }];
  }
}

/** Names that a question shows. The agent may choose a name that misleads a person. */
const PLAIN = /^[\w./ -]{1,200}$/;
const named = (path: string): string => (PLAIN.test(path) ? path : "a file with an odd name");

async function hooksIn(dir: string): Promise<readonly Finding[]> {
  const names = await readdir(dir).catch(() => []);
  const found = await Promise.all(
    names.filter((name) => !name.endsWith(".sample")).map((name) => hookAt(join(dir, name), name)),
  );
  return found.flat();
}

async function hookAt(path: string, name: string): Promise<readonly Finding[]> {
  try {
    await access(path, constants.X_OK);
  } catch {
    // Git runs no hook that is not executable.
    return [];
  }
  return [{ why: `the hook ${named(name)} of the repository`, content: await fileHash(path) }];
}

/** Git's own commands that continue no rebase. An alias of the user may: its name is not in the list. */
const LEAVE_REBASE =
  /^(?:add|blame|branch|cat-file|describe|diff|log|ls-files|ls-tree|merge-base|mv|reflog|remote|restore|rev-list|rev-parse|rm|shortlog|show|stash|status|tag)?$/;

/**
 * Commands among the steps of a rebase. A rebase continues with the steps that a file lists, and a step may be a
 * command.
 */
async function stepsIn({ gitDir }: Repository, words: readonly string[]): Promise<readonly Finding[]> {
  if (LEAVE_REBASE.test(words.slice(1).find((word) => !word.startsWith("-")) ?? "")) return [];
  const path = join(gitDir, "rebase-merge", REBASE_STEPS);
  if ((await lstat(path).catch(() => undefined)) === undefined) return [];
  const text = await textAt(path, MOST_CONFIG_BYTES);
  if (text !== undefined && !hasCommand(text)) return [];
  return [{ why: "a step of the rebase that is under way", content: text ?? "" }];
}

/** Findings in submodules: `git status` and others run Git in each submodule, by the submodule's settings. */
async function submodulesOf({ gitDir, tree }: Repository, depth: number): Promise<readonly Finding[]> {
  if (tree === undefined) return [];
  const paths = await submodulePaths(gitDir);
  if (paths === undefined || paths.length > MOST_SUBMODULES || (depth >= MOST_DEPTH && paths.length > 0))
    return [{ why: "its submodules, which cannot be looked at", content: "" }];
  const inside = await Promise.all(
    paths.map(async (path) => {
      const repository = await repositoryOf(join(tree, path));
      return repository ? inRepository(repository, depth + 1) : [];
    }),
  );
  return inside.flat();
}

async function submodulePaths(gitDir: string): Promise<readonly string[] | undefined> {
  const names = await readdir(gitDir).catch(() => []);
  const files = names.filter((name) => name === "index" || name.startsWith("sharedindex."));
  const each = await Promise.all(files.map((name) => submodulesAt(join(gitDir, name))));
  return each.every((paths) => paths !== undefined) ? [...new Set(each.flat())] : undefined;
}

async function submodulesAt(path: string): Promise<readonly string[] | undefined> {
  try {
    return submodulesIn(await readRegular(await realpath(path), MOST_INDEX_BYTES));
  } catch {
    // The index is a device, is too large, or was replaced meanwhile.
    return undefined;
  }
}

/** Repositories on this machine that a command sends to or fetches from: their hooks and settings run here. */
async function nearbyIn(
  repositories: readonly Repository[],
  words: readonly string[],
  cwd: string,
): Promise<readonly Finding[]> {
  const named = await Promise.all(words.slice(1).map(async (word) => ((await isNearby(word, cwd)) ? [word] : [])));
  const configured = await Promise.all(repositories.map(({ commonDir }) => addressesOf(commonDir)));
  return [...named, ...configured]
    .flat()
    .map((content) => ({ why: "a repository on this machine, whose hooks run", content }));
}

async function isNearby(word: string, cwd: string): Promise<boolean> {
  const path = word.replace(/^--?[\w-]+=/, "");
  if (/^(?:\.{0,2}\/|\.\.?$|~|file:)/i.test(path)) return true;
  const dirs = [path, `${path}.git`].map((name) => resolve(cwd, name));
  const found = await Promise.all(dirs.map((dir) => stat(dir).catch(() => undefined)));
  return found.some((facts) => facts?.isDirectory() === true);
}

/** Addresses of this machine in the settings, and files from which older versions of Git read addresses. */
async function addressesOf(commonDir: string): Promise<readonly string[]> {
  const text = (await textAt(join(commonDir, "config"), MOST_CONFIG_BYTES)) ?? "";
  const old = await Promise.all(["remotes", "branches"].map((name) => readdir(join(commonDir, name)).catch(() => [])));
  return [...remotesIn(text).addresses.filter((address) => !ELSEWHERE.test(address)), ...old.flat()];
}

/** Findings in Mercurial's settings, which name hooks, aliases and programs. */
async function mercurialAbove(cwd: string): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (let at = cwd, above = ""; at !== above; above = at, at = resolve(at, "..")) {
    const path = join(at, ".hg", "hgrc");
    const isThere = (await lstat(path).catch(() => undefined)) !== undefined;
    if (isThere) found.push({ why: `the settings in ${named(path)}`, content: await fileHash(path) });
  }
  return found;
}

/** A repository, or a directory that looks like one. */
interface Repository {
  /** Git's directory for one working tree. */
  readonly gitDir: string;
  /** Git's directory for the settings and hooks. */
  readonly commonDir: string;
  /** The working tree; unset for a repository without one. */
  readonly tree?: string;
  /** Set when a file with the repository's place is not understood. */
  readonly isOdd?: true;
}

const MOST_BYTES = 4096;

/** The text of a small file, behind links too; undefined when it cannot be read. Never rejects. */
async function textAt(path: string, mostBytes = MOST_BYTES): Promise<string | undefined> {
  try {
    return (await readRegular(await realpath(path), mostBytes)).toString("utf8");
  } catch {
    // The file is missing, or is no regular file.
    return undefined;
  }
}

/**
 * The repositories that Git may find from a directory: the nearest certain one, and possible ones on the way to it.
 * `dir` is absolute and has no links.
 */
async function repositoriesAbove(dir: string): Promise<readonly Repository[]> {
  const found: Repository[] = [];
  for (let at = dir; ; at = dirname(at)) {
    const here = (await repositoryOf(at)) ?? (await bareIn(at));
    if (here) found.push(here);
    if ((here && (await isCertain(here))) || dirname(at) === at) return found;
  }
}

/** The repository of a working tree; undefined without `.git`. */
async function repositoryOf(tree: string): Promise<Repository | undefined> {
  const path = join(tree, ".git");
  const facts = await stat(path).catch(() => undefined);
  if (!facts) return undefined;
  if (facts.isDirectory()) return { ...(await withCommon(path)), tree };
  const named = /^gitdir: (\S[^\r\n]*)[\r\n]*$/.exec((await textAt(path)) ?? "")?.[1];
  if (named === undefined) return { gitDir: path, commonDir: path, tree, isOdd: true };
  return { ...(await withCommon(resolve(tree, named))), tree };
}

async function bareIn(dir: string): Promise<Repository | undefined> {
  const hasHead = (await lstat(join(dir, "HEAD")).catch(() => undefined)) !== undefined;
  return hasHead ? withCommon(dir) : undefined;
}

async function withCommon(gitDir: string): Promise<Repository> {
  const path = join(gitDir, "commondir");
  if ((await lstat(path).catch(() => undefined)) === undefined) return { gitDir, commonDir: gitDir };
  const named = /^(\S[^\r\n]*)[\r\n]*$/.exec((await textAt(path)) ?? "")?.[1];
  if (named === undefined) return { gitDir, commonDir: gitDir, isOdd: true };
  return { gitDir, commonDir: resolve(gitDir, named) };
}

/** Whether Git takes a directory for a repository and looks no further. False when in doubt. */
async function isCertain({ gitDir, commonDir }: Repository): Promise<boolean> {
  const parts = [join(commonDir, "objects"), join(commonDir, "refs")];
  return (await hasHead(gitDir)) && (await Promise.all(parts.map(isSearchable))).every(Boolean);
}

async function hasHead(gitDir: string): Promise<boolean> {
  const path = join(gitDir, "HEAD");
  const target = await readlink(path).catch(() => undefined);
  if (target?.startsWith("refs/") === true) return true;
  return /^(?:ref:\s*refs\/|[0-9a-f]{40})/.test((await textAt(path, 255)) ?? "");
}

async function isSearchable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isDirectory();
  } catch {
    // The directory is missing, or closed to this user.
    return false;
  }
}
