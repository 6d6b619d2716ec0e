import { checks as cronChecks } from "../../automation/cron/checks.ts";
import { checks as webhookChecks } from "../../automation/hooks/checks.ts";
import type { Contributions } from "../../plugins/contributions.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { LoadOptions } from "../config/load.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema/schema.ts";
import { allowedCheck, approvalsCheck } from "./people/approvals-check.ts";
import { bindingsCheck } from "./agents/bindings-check.ts";
import { configCheck } from "./config-check.ts";
import { webhooksCheck, lockCheck, pageCheck, portCheck, tokenCheck } from "./gateway-checks.ts";
import { nodeCheck, stateDirCheck } from "./machine-checks.ts";
import { permissionCheck } from "./permission-check.ts";
import { policyCheck } from "./policy-check.ts";
import { agentChecks } from "./sandbox-check.ts";
import { toolsCheck } from "./tools-check.ts";
import { MentionPattern } from "../../channels/access/mention-pattern.ts";
import { ownerGap } from "../accounts/owner-gap.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { exists } from "../../utils/exists.ts";
import { type Strangers, strangersText } from "../strangers-text.ts";

/** The checks that belong to no module. Without a valid config, those that need one are left out. */
export function appChecks(options: {
  paths: StatePaths;
  load: LoadOptions;
  config?: Config | undefined;
  contributions: Contributions;
}): readonly Check[] {
  const { paths, load, config, contributions } = options;
  const always = [
    nodeCheck(),
    stateDirCheck(paths, load.env),
    configCheck(load),
    permissionCheck(paths),
    lockCheck(paths),
    strangersCheck(journalPath(paths)),
    allowedCheck(paths),
  ];
  if (!config) return always;
  const isRouted = config.bindings.length > 0 || Object.values(config.broadcast).some(Array.isArray);
  const bound = isRouted ? [bindingsCheck(config)] : [];
  const own = [portCheck, tokenCheck, pageCheck(load.env), webhooksCheck].map((check) => check(config, paths));
  const ofAgents = agentChecks({ config, paths, env: load.env, contributions });
  const jobs = cronChecks({ stateDir: paths.stateDir, journal: journalPath(paths), config: config.cron });
  const mail = webhookChecks({ config: config.hooks, env: load.env });
  const people = [policyCheck, ownerCheck, approvalsCheck, mentionsCheck, toolsCheck].map((check) => check(config));
  return [...always, ...own, ...people, ...ofAgents, ...jobs, ...mail, ...bound];
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
