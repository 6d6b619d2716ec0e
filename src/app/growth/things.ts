import type { Config } from "../config/schema/schema.ts";
import { showDuration } from "../../utils/time/duration.ts";
import { fileSizeText } from "../../dispatch/commands/reports/chat-file.ts";

/** A limit, in words and, where there is one, in bytes. */
export interface Bound {
  readonly text: string;
  readonly bytes?: number;
}

/** Files of the state directory that become more while the gateway runs, and what bounds them. */
export interface GrowingThing {
  readonly name: string;
  /** The place for people, below the state directory. */
  readonly at: string;
  /** Its files, by their path below the state directory, with `/`. A file belongs to the first thing that names it. */
  readonly files: RegExp;
  /** Undefined when the config has switched the bound off. */
  readonly bound: (config: Config) => Bound | undefined;
  /** Keys of the config that set the bound. */
  readonly keys: readonly string[];
  /** The remedy when there is more than the bound allows, or no bound. */
  readonly fix: string;
  /** There may be very many files, of programs and people: they are counted only when somebody asks. */
  readonly isDeep?: true;
}

const MIB = 1_048_576;
const GIB = 1024 * MIB;

const fixed = (text: string, bytes?: number) => (): Bound => ({ text, ...(bytes !== undefined && { bytes }) });

/** Days, and MiB beyond which the oldest go earlier. */
const kept = (days: number, mb: number): Bound => ({
  text: `${days} days, and ${fileSizeText(mb * MIB)}`,
  bytes: mb * MIB,
});

const DAILY = "The gateway removes what is too old a minute after its start and once a day: openclaw gateway status";
const BY_HAND = "See what is in it, and remove by hand what you do not need.";

/** All that grows. */
export const GROWING: readonly GrowingThing[] = [
  {
    name: "journal",
    at: "state/journal.sqlite",
    files: /^state\/journal\.sqlite/,
    keys: ["retention.rowsDays", "retention.journalMaxMb", "retention.strangersDays", "retention.dedupeDays"],
    bound: ({ retention }) => kept(retention.rowsDays, retention.journalMaxMb),
    fix: `${DAILY}. For less: openclaw config set retention.rowsDays 14`,
  },
  {
    name: "transcripts",
    at: "sessions/",
    files: /^sessions\//,
    keys: ["session.maintenance.maxDiskBytes", "session.maintenance.resetArchiveRetention", "session.maintenance.mode"],
    bound: transcripts,
    fix: "See what is due: openclaw sessions cleanup --dry-run. To have it done each day: openclaw config set session.maintenance.mode enforce",
  },
  {
    name: "media",
    at: "media/",
    files: /^media\//,
    keys: ["retention.mediaDays", "retention.mediaMaxMb"],
    bound: ({ retention }) => kept(retention.mediaDays, retention.mediaMaxMb),
    fix: `${DAILY}. For less: openclaw config set retention.mediaDays 30`,
  },
  {
    name: "logs",
    at: "logs/openclaw-*.log",
    files: /^logs\/openclaw-[^/]*\.log$/,
    keys: ["retention.logsDays", "retention.logsMaxMb"],
    bound: ({ retention }) => kept(retention.logsDays, retention.logsMaxMb),
    fix: `${DAILY}. For less: openclaw config set retention.logsDays 7, or logging.level warn`,
  },
  {
    name: "other logs",
    at: "logs/",
    files: /^logs\//,
    keys: [],
    bound: fixed("16 MiB of the commands of chats twice; what a service says is begun anew at each start", 64 * MIB),
    fix: BY_HAND,
  },
  {
    name: "trash",
    at: "trash/",
    files: /^trash\//,
    keys: ["retention.trashDays"],
    bound: ({ retention }) => ({ text: `${retention.trashDays} days` }),
    fix: DAILY,
    isDeep: true,
  },
  {
    name: "memory",
    at: "state/memory/*.sqlite",
    files: /^state\/memory\/[^/]*\.sqlite/,
    keys: [],
    bound: fixed("the notes, and the transcripts where `memorySearch.sources` names them"),
    fix: "Make it anew: openclaw memory index --force",
  },
  {
    name: "origins of notes",
    at: "state/memory/*.changes.jsonl",
    files: /^state\/memory\/[^/]*\.changes\.jsonl/,
    keys: [],
    bound: fixed("16 MiB for each agent, and what content of others has written", 64 * MIB),
    fix: "Remove notes that you do not need, then the file: openclaw memory why then knows no origins of before.",
  },
  {
    name: "origins of files",
    at: "state/*.jsonl",
    files: /^state\/(?:file-origins|command-spans|file-writes)\.jsonl/,
    keys: [],
    bound: fixed("20,000 files and 2,000 commands", 64 * MIB),
    fix: "It is written anew at the next start: openclaw gateway restart",
  },
  {
    name: "receipts of imports",
    at: "state/imports.jsonl",
    files: /^state\/imports\.jsonl/,
    keys: [],
    bound: fixed("a line for each item that was imported", 64 * MIB),
    fix: BY_HAND,
  },
  {
    name: "browser",
    at: "state/browser/",
    files: /^state\/browser\//,
    keys: ["browser.profiles"],
    bound: fixed("a folder for each profile, whose cache the browser bounds"),
    fix: "Stop the gateway, and remove the folder of a profile: its logins are gone with it.",
    isDeep: true,
  },
  {
    name: "libraries",
    at: "state/libraries/",
    files: /^state\/libraries\//,
    keys: [],
    bound: fixed("one version for each channel, and for the browser"),
    fix: "Stop the gateway, and remove the folder: what is needed is fetched again.",
    isDeep: true,
  },
  {
    name: "versions",
    at: "versions/",
    files: /^versions\//,
    keys: [],
    bound: fixed("the present version and the one before"),
    fix: "Run: openclaw update cleanup",
    isDeep: true,
  },
  {
    name: "plugins, skills and hooks",
    at: "extensions/, plugins/, skills/, hooks/",
    files: /^(?:extensions|plugins|skills|hooks)\//,
    keys: [],
    bound: fixed("one version of each that you have installed, its last trial, and 50 crashes"),
    fix: "See openclaw plugins list, and remove what you do not use: openclaw plugins uninstall <id>",
    isDeep: true,
  },
  {
    name: "keys and accounts",
    at: "credentials/, agents/, devices/, identity/, service-env/",
    files: /^(?:credentials|agents|devices|identity|service-env)\//,
    keys: [],
    bound: fixed("one for each account, agent and device", GIB),
    fix: BY_HAND,
  },
  {
    name: "sandboxes",
    at: "sandboxes/",
    files: /^sandboxes\//,
    keys: ["agents.defaults.sandbox.prune"],
    bound: ({ agents }) => sandboxes(agents.defaults.sandbox?.prune ?? {}),
    fix: "Bound them: openclaw config set agents.defaults.sandbox.prune.maxAgeDays 7",
    isDeep: true,
  },
  {
    name: "workspaces",
    at: "workspace*/",
    files: /^workspace(?:-[^/]*)?\//,
    keys: [],
    bound: fixed("yours and your agents': nothing of it is removed but long results, after a day or above 500 MiB"),
    fix: BY_HAND,
    isDeep: true,
  },
  {
    name: "small files",
    at: "openclaw.json, state/, cron/",
    // Not every file of `state/`: one that becomes longer needs a row of its own.
    files: /^(?:[^/]+|state\/(?:[^/]+\.(?:json|lock|tmp))?|cron\/(?:[^/]+\.json)?)$/,
    keys: [],
    bound: fixed("one of each kind", 64 * MIB),
    fix: BY_HAND,
  },
];

/** Whether a folder of this name, directly in the state directory, is the gateway's or a workspace. */
export const isKnownFolder = (name: string): boolean => GROWING.some(({ files }) => files.test(`${name}/`));

/** Files of the state directory that no row names. */
export const OTHERS: GrowingThing = {
  name: "other files",
  at: "elsewhere in the state directory",
  files: /(?:)/,
  keys: [],
  bound: fixed("nothing of the gateway: yours, or of a plugin", GIB),
  fix: BY_HAND,
  isDeep: true,
};

function transcripts({ session }: Config): Bound | undefined {
  const { mode, maxDiskBytes, resetArchiveRetention } = session.maintenance;
  if (maxDiskBytes === false || maxDiskBytes === 0) return undefined;
  const old = resetArchiveRetention === false ? "" : `, old ones ${showDuration(resetArchiveRetention)}`;
  const only = mode === "enforce" ? "" : "; beyond it the gateway only says so";
  return { text: `${fileSizeText(maxDiskBytes)}${old}${only}`, bytes: maxDiskBytes };
}

function sandboxes({ idleHours = 24, maxAgeDays = 7 }: PruneKeys): Bound | undefined {
  const bounds = [
    ...(idleHours === 0 ? [] : [`${idleHours} hours unused`]),
    ...(maxAgeDays === 0 ? [] : [`${maxAgeDays} days in all`]),
  ];
  return bounds.length === 0 ? undefined : { text: bounds.join(", ") };
}

type PruneKeys = Readonly<Partial<Record<"idleHours" | "maxAgeDays", number | undefined>>>;
