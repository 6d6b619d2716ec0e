import { checks as cronChecks } from "../../automation/cron/checks.ts";
import { checks as webhookChecks } from "../../automation/hooks/checks.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { LoadedConfig, LoadOptions } from "../config/load.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";
import { allowedCheck, approvalsCheck } from "./people/approvals-check.ts";
import { configCheck, configFiles } from "./config-check.ts";
import {
  backupsCheck,
  webhooksCheck,
  lockCheck,
  pageCheck,
  portCheck,
  serviceCheck,
  tokenCheck,
  upkeepCheck,
} from "./gateway-checks.ts";
import { copyCheck, nodeCheck, stateDirCheck, growthCheck } from "./machine-checks.ts";
import { policyCheck } from "./policy-check.ts";
import { agentChecks } from "./sandbox-check.ts";
import { toolsCheck } from "./tools-check.ts";
import { MentionPattern } from "../../channels/access/mention-pattern.ts";
import { ownerGap } from "../accounts/owner-gap.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { exists } from "../../utils/exists.ts";
import { strangersText, type Strangers } from "../strangers-text.ts";
import { coveringBinding, isRoute, type Binding } from "../../channels/routing/bindings.ts";
import { accountInputs } from "../../channels/config.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { own } from "../../utils/own.ts";
import { defaultAccountOf } from "../accounts/accounts.ts";
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { accessFault, type AccessFault } from "../../utils/access-fault.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { gatewayTokenFile } from "../config/gateway-login.ts";

/** The checks that belong to no module. Without a valid config, those that need one are left out. */
export function appChecks(options: {
  paths: StatePaths;
  load: LoadOptions;
  loaded?: Pick<LoadedConfig, "config" | "variables"> | undefined;
  contributions: Contributions;
}): readonly Check[] {
  const { paths, load, loaded, contributions } = options;
  const always = [
    nodeCheck(),
    stateDirCheck(paths, load.env),
    configCheck(load, paths),
    permissionCheck(paths),
    lockCheck(paths),
    copyCheck(paths),
    strangersCheck(journalPath(paths)),
    allowedCheck(paths),
  ];
  if (!loaded) return always;
  const { config } = loaded;
  const isRouted = config.bindings.length > 0 || Object.values(config.broadcast).some(Array.isArray);
  const bound = isRouted ? [bindingsCheck(config)] : [];
  const own = [
    portCheck,
    tokenCheck(load.env),
    pageCheck(load.env),
    webhooksCheck(load.env),
    upkeepCheck(load.env),
    backupsCheck,
    growthCheck(load.env),
  ].map((check) => check(config, paths));
  const ofAgents = agentChecks({ config, paths, env: load.env, contributions });
  const jobs = cronChecks({ stateDir: paths.stateDir, journal: journalPath(paths), config: config.cron });
  const mail = webhookChecks({ config: config.hooks, env: load.env });
  const people = [policyCheck, ownerCheck, approvalsCheck, mentionsCheck, toolsCheck].map((check) => check(config));
  const service = serviceCheck(loaded, { env: load.env, contributions });
  return [...always, ...own, service, ...people, ...ofAgents, ...jobs, ...mail, ...bound];
}

/** Characters of a text on which a pattern may search without end. */
const LENGTH = 200;

/** Whether a stranger's text can keep a mention pattern busy. */
function mentionsCheck({ agents, messages }: Config): Check {
  const own = agents.list.flatMap(({ groupChat }) => groupChat.mentionPatterns ?? []);
  const sources = [...new Set([...messages.groupChat.mentionPatterns, ...own])];
  return {
    id: "app.mentions",
    title: "Mention patterns",
    run: async () => {
      const found = sources.filter(isEndless).map(tellOf);
      return found.length > 0 ? found : [{ status: "ok", message: "None can be made to search without end." }];
    },
  };
}

/**
 * Whether a pattern searches without end on inputs that typically cause that: many repetitions of a character of the
 * pattern, then a different one.
 */
function isEndless(source: string): boolean {
  const pattern = new MentionPattern(source);
  const literals = source.replaceAll(/\\./gsu, "").match(/[\p{L}\p{N}@ _-]+/gu) ?? [];
  const units = new Set(["a", "1", " ", "-", "a ", ...literals, ...literals.flatMap((one) => one.match(/./gu) ?? [])]);
  for (const unit of units) {
    if (pattern.wasStopped) break;
    pattern.isIn(`${unit.repeat(Math.ceil(LENGTH / unit.length))}\n!`);
  }
  return pattern.wasStopped;
}

const tellOf = (source: string): CheckResult => ({
  status: "warn",
  message: `The mention pattern ${JSON.stringify(source)} searches some texts without end; the search is stopped, and the pattern is then not used for a minute.`,
  fix: "Write it without a repetition inside of a repetition, such as `(a+)+`.",
});

/** Whether any sender of a channel is an owner. */
function ownerCheck(config: Config): Check {
  return {
    id: "app.owner",
    title: "Owners",
    run: async () => {
      const gap = ownerGap(config);
      const count = config.commands.ownerAllowFrom.length;
      const known = count === 0 ? "No channel is set up; the page and the command line are yours." : `${count} named.`;
      return [gap ? { status: "warn", ...gap } : { status: "ok", message: known }];
    },
  };
}

/** Whether strangers wait for pairing or were rejected. `journal` is the path of the journal. */
function strangersCheck(journal: string): Check {
  return {
    id: "app.strangers",
    title: "Strangers",
    async run() {
      const text = strangersText(await strangersIn(journal));
      if (text === undefined) return [{ status: "ok", message: "Nobody waits to be let in." }];
      const fix = "Let somebody in by their code or id: openclaw pairing approve <channel> <code>";
      return [{ status: "warn", message: `${text.charAt(0).toUpperCase()}${text.slice(1)}`, fix }];
    },
  };
}

/** The strangers in the journal; none when there is no journal: a check does not create one. */
async function strangersIn(path: string): Promise<Strangers> {
  if (!(await exists(path))) return { waiting: 0, turnedAway: 0 };
  const journal = await openJournalToRead(path);
  try {
    const [requests, turnedAway] = await Promise.all([journal.pairing.list(), journal.pairing.turnedAway()]);
    return { waiting: requests.length, turnedAway: turnedAway.length };
  } finally {
    await journal.close();
  }
}

/** Whether each binding names an existing agent, channel and account, and can be chosen at all. */
function bindingsCheck(config: Config): Check {
  const { agents, bindings } = config;
  const known = new Set<string>(
    agents.list.length > 0 ? agents.list.map(({ id }) => id) : [agents.defaults.agentId ?? DEFAULT_AGENT],
  );
  return {
    id: "app.bindings",
    title: "Bindings",
    run: async () => {
      const found = bindings.flatMap((binding, at): CheckResult[] => {
        if (!isRoute(binding)) return [];
        const { agentId } = binding;
        return [...(known.has(agentId) ? [] : [noAgent(at, agentId)]), ...unreachable(config, binding, at)];
      });
      const strange = [...found, ...unknownInBroadcast(config, known)];
      return strange.length > 0
        ? strange
        : [{ status: "ok", message: `${bindings.filter(isRoute).length} of them, all to agents there are.` }];
    },
  };
}

function unreachable(config: Config, { match }: Binding, at: number): readonly CheckResult[] {
  const { channel, accountId } = match;
  const section = own(config.channels, channel);
  if (section === undefined) return [noChannel(at, channel)];
  const accounts = accountInputs(section).map(({ id }) => id);
  // An adapter that has a list of accounts of its own has none in the config.
  const isUnknown = accountId !== undefined && accountId !== "*" && section.accounts !== undefined;
  if (isUnknown && !accounts.includes(accountId)) return [noAccount(at, channel, accountId)];
  const earlier = coveringBinding(config.bindings, at, (name) => defaultAccountOf(config, name));
  return earlier === undefined ? [] : [covered(at, earlier)];
}

const noAgent = (at: number, id: string): CheckResult => ({
  status: "fail",
  message: `bindings[${at}]: there is no agent "${id}"; messages for it fail, and their senders are informed.`,
  fix: "Add the agent to agents.list, or take the binding out.",
});

function unknownInBroadcast({ broadcast }: Config, known: ReadonlySet<string>): readonly CheckResult[] {
  return Object.entries(broadcast).flatMap(([chat, ids]) =>
    (Array.isArray(ids) ? ids : [])
      .filter((id) => !known.has(id))
      .map((id): CheckResult => ({
        status: "fail",
        message: `broadcast["${chat}"]: there is no agent "${id}"; messages for it fail, and their senders are informed.`,
        fix: "Add the agent to agents.list, or take it out of the list.",
      })),
  );
}

const noChannel = (at: number, id: string): CheckResult => ({
  status: "warn",
  message: `bindings[${at}]: the config names no channel "${id}"; no message fits.`,
  fix: "Correct match.channel, or set the channel up.",
});

const noAccount = (at: number, channel: string, account: string): CheckResult => ({
  status: "warn",
  message: `bindings[${at}]: ${channel} has no account "${account}"; no message fits.`,
  fix: "Correct match.accountId, or add the account.",
});

const covered = (at: number, earlier: number): CheckResult => ({
  status: "warn",
  message: `bindings[${at}] is never chosen: bindings[${earlier}] matches the same messages before it.`,
  fix: "Take one of the two out. openclaw agents bindings --channel says which one is chosen.",
});

interface Target {
  readonly path: string;
  readonly mode: number;
}

/**
 * Whether no other user may read or write the state directory and the config, and this user may use everything in them.
 */
function permissionCheck(paths: StatePaths): Check {
  const targets: readonly Target[] = [
    { path: paths.stateDir, mode: 0o700 },
    { path: paths.credentials, mode: 0o700 },
    { path: gatewayTokenFile(paths), mode: 0o600 },
  ];
  return {
    id: "app.permissions",
    title: "Permissions",
    async run() {
      const closed = deniedResults(await deniedIn(paths));
      if (process.platform === "win32")
        return closed.length > 0 ? closed : [{ status: "skip", message: "Windows has no file modes." }];
      const configs = (await configFiles(paths)).map((path) => ({ path, mode: 0o600 }));
      const open = (await Promise.all([...targets, ...configs].map(look))).filter((result) => result !== undefined);
      const found = [...closed, ...open];
      return found.length > 0 ? found : [{ status: "ok", message: `${paths.stateDir} is private.` }];
    },
  };
}

/**
 * Paths that this user may not use: directories that the gateway fills, files that it writes, and files that it reads.
 */
async function deniedIn(paths: StatePaths): Promise<readonly AccessFault[]> {
  const { stateDir, stateSub, sessionsDir, credentials, media, logs, configPath } = paths;
  const filled = [stateDir, stateSub, sessionsDir, credentials, media, logs];
  const dirs = await Promise.all(filled.map((path) => accessFault(path, "fill")));
  const written = await Promise.all([stateSub, sessionsDir].map(filesIn));
  const read = [configPath, ...(await filesIn(credentials))];
  const files = await Promise.all([
    ...written.flat().map((path) => accessFault(path, "write")),
    ...read.map((path) => accessFault(path, "read")),
  ]);
  return [...dirs, ...files].filter((fault) => fault !== undefined);
}

/** The files of a directory. None when it is missing or closed, which `deniedIn` reports of the directory itself. */
async function filesIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(dir, name));
}

/** One result for each remedy, with the first path and the number of others. */
function deniedResults(faults: readonly AccessFault[]): readonly CheckResult[] {
  const byFix = Map.groupBy(faults, ({ fix }) => fix);
  return [...byFix.values()].map(([first, ...more]): CheckResult => {
    const { path, why, fix, mode } = first ?? NO_FAULT;
    const others = more.length === 0 ? "" : ` The same holds for ${more.length} more.`;
    const change =
      mode === undefined ? undefined : { describe: fix.slice("Run: ".length), apply: () => chmod(path, mode) };
    return {
      status: "fail",
      message: `This user cannot use ${path}: ${why}.${others}`,
      fix,
      ...(change && { repair: change }),
    };
  });
}

const NO_FAULT: AccessFault = { path: "", why: "", fix: "" };

async function look({ path, mode }: Target): Promise<CheckResult | undefined> {
  // A file that cannot be looked at has a check of its own, which names the fault.
  const facts = await unlessMissing(stat(path)).catch(() => undefined);
  if (!facts || (facts.mode & 0o077) === 0) return undefined;
  const wanted = mode.toString(8);
  const isOurs = facts.uid === process.getuid?.();
  return {
    status: (facts.mode & 0o022) !== 0 ? "fail" : "warn",
    message: `${path} may be ${doneBy(facts.mode)} (mode ${(facts.mode & 0o777).toString(8)}).`,
    fix: `Run: ${isOurs ? "" : "sudo "}chmod ${wanted} ${path}`,
    ...(isOurs && { repair: { describe: `chmod ${wanted} ${path}`, apply: () => chmod(path, mode) } }),
  };
}

function doneBy(mode: number): string {
  if ((mode & 0o002) !== 0) return "changed by everybody on this machine";
  if ((mode & 0o020) !== 0) return "changed by its group";
  return (mode & 0o004) !== 0 ? "read by everybody on this machine" : "read by its group";
}
