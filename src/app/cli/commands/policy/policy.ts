import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { wireKey } from "../../../../sessions/keys.ts";
import { readRows } from "../../../../sessions/rows/read-rows.ts";
import { openJournalToRead } from "../../../../store/journal/read-only.ts";
import { SandboxMachine } from "../../../../tools/sandbox/machine.ts";
import type { JudgedCommand } from "../../../../types/answers/tools.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { SessionKey } from "../../../../types/ids.ts";
import { untrustedMarkOf } from "../../../../types/run/untrusted.ts";
import type { StageAnswer } from "../../../../types/tool-policy.ts";
import { defined } from "../../../../utils/defined.ts";
import { Live } from "../../../live.ts";
import { explainPolicy, type PlacedVerdict, type PolicyExplanation } from "../../../compose/policy/explain.ts";
import type { PolicyAsk } from "../../../compose/policy/subject.ts";
import { probeSandboxes } from "../../../compose/sandbox/sandboxing.ts";
import { loadConfig } from "../../../config/load.ts";
import { journalPath, type StatePaths } from "../../../config/paths.ts";
import { execOf, wishOf } from "../../../gateway/parts/session-rights.ts";
import { openLog } from "../../../log/log.ts";
import { writeJson, type Io } from "../../io.ts";
import { loadOptions } from "../../state.ts";
import { pairs, table } from "../../table.ts";

export type PolicyFlags = PolicyAsk & { readonly command?: string; readonly json?: boolean };

/**
 * Explains who has a tool and why: each step of the policy with the key that says it and its place in the file. All tools in
 * short without a name. With a command, explains what would become of it. Reads the config and the state, and tries the
 * sandboxes as the gateway does at its start, so it works while the gateway runs or not. Throws USAGE, and NOT_FOUND for a tool or an agent that does not exist.
 */
export async function policyExplain(io: Io, tool: string | undefined, flags: PolicyFlags): Promise<number> {
  const { load, paths } = await loadOptions(io);
  const live = new Live(paths, io.env["HOME"] ?? homedir(), await loadConfig(load), io.contributions);
  const machine = new SandboxMachine({ env: io.env, dir: paths.stateSub, contributions: io.contributions });
  if (flags.command !== undefined && tool !== undefined && tool !== "exec") throw notOfExec(tool);
  const named = flags.command === undefined ? tool : "exec";
  await probeSandboxes(live.agents, machine);
  const explanation = await explainPolicy(live, machine, { ...flags, tool: named });
  const { of, verdicts } = explanation;
  const unknown = verdicts.find((one) => one.unknown !== undefined);
  if (unknown) throw noTool(unknown);
  const session = wireKey(of.sessionKey, live.defaultAgent.id);
  const command =
    flags.command === undefined ? undefined : await judged(flags.command, explanation, { live, machine, paths });
  if (flags.json === true) {
    const { agent, confined, leftOut } = of;
    writeJson(io, { agent: agent.id, session, sandboxed: confined.files, ...defined({ command }), verdicts, leftOut });
    return 0;
  }
  if (command) {
    io.out(`${commandText(io, command, of)}${notesOf(explanation, session)}`);
    return 0;
  }
  const [only] = verdicts;
  const text =
    tool !== undefined && only
      ? oneText(io, only, explanation)
      : table(io, ["TOOL", "ALLOWED", "BECAUSE"], verdicts.map(shortLine));
  io.out(`${text}${notesOf(explanation, session)}`);
  return 0;
}

function notOfExec(tool: string): OpenClawError {
  return new OpenClawError("USAGE", {
    message: `--command is about the tool exec, not about ${tool}.`,
    fix: "Leave out the tool, or --command.",
  });
}

function noTool({ tool, unknown }: PlacedVerdict): OpenClawError {
  return new OpenClawError("NOT_FOUND", {
    message: `There is no tool "${tool}".`,
    fix: unknown?.near === undefined ? "See what there is: openclaw policy" : `Did you mean ${unknown.near}?`,
  });
}

interface Judging {
  readonly live: Live;
  readonly machine: SandboxMachine;
  readonly paths: StatePaths;
}

/** What would become of a command of the run. The session's own settings and its untrusted content count. */
async function judged(text: string, explained: PolicyExplanation, { live, machine, paths }: Judging) {
  const { judgedCommand } = await import("../../../compose/policy/judged-command.ts");
  const { of } = explained;
  const journal = journalPath(paths);
  const rows = await readRows({ dir: paths.sessionsDir, journal }, live.defaultAgent.id);
  const entry = rows.get(of.sessionKey);
  const wish = wishOf(entry);
  const { level, redactPatterns } = live.config.logging;
  const log = openLog({ dir: paths.logs, level, consoleLevel: "silent", consoleStyle: "pretty", redactPatterns });
  const received = { of: (key: SessionKey) => receivedIn(journal, key) };
  return judgedCommand(
    {
      text,
      explained,
      exec: await execOf(of.agent, wish, live),
      wish,
      untrusted: untrustedMarkOf(entry?.untrustedContent)?.sources ?? [],
    },
    { live, machine, received, log },
  );
}

/** The files that a conversation received; none before the first start. */
async function receivedIn(journal: string, key: SessionKey): Promise<readonly string[]> {
  if (!existsSync(journal)) return [];
  const source = await openJournalToRead(journal);
  try {
    return await source.received.of(key);
  } finally {
    await source.close();
  }
}

const OUTCOMES: Readonly<Record<string, string>> = {
  runs: "would run",
  asks: "would be asked about",
  refused: "would be refused",
};

function commandText(io: Io, { text, outcome, why, key, place }: JudgedCommand, of: PolicyExplanation["of"]): string {
  const said = `For the agent "${of.agent.id}"${whoIn(of)}, this command ${OUTCOMES[outcome] ?? outcome}: ${text}`;
  return `${said}\n${pairs(io, [
    ["Because", why],
    ["Key", key],
    ["Where", place],
  ])}`;
}

function notesOf({ of: { confined, leftOut }, isWithoutModel }: PolicyExplanation, session: string): string {
  const notes = [
    ...(confined.files ? [`The tools of ${session} are confined to a sandbox.`] : []),
    ...(isWithoutModel
      ? ["Rules about models (byProvider) are left out; add --model provider/model to see them."]
      : []),
    ...(leftOut.length > 0
      ? [
          `Rules by a name that was not given are left out: ${leftOut.join(", ")}; add --username, --name, or a phone ` +
            "number as the sender to see them.",
        ]
      : []),
  ];
  return notes.map((note) => `${note}\n`).join("");
}

const ANSWERS: Readonly<Record<StageAnswer["answer"], string>> = {
  allowed: "allows",
  denied: "denies",
  unlisted: "does not list it",
};

const saying = ({ answer, entry }: StageAnswer): string =>
  entry === undefined ? ANSWERS[answer] : `${ANSWERS[answer]} ("${entry}")`;

function oneText(io: Io, { tool, isAllowed, trace }: PlacedVerdict, { of }: PolicyExplanation): string {
  const rows = trace.map((one) => [one.stage, saying(one), one.key, one.place ?? ""]);
  const steps =
    rows.length === 0 ? "No rule of the config is about it.\n" : table(io, ["STEP", "SAYS", "KEY", "WHERE"], rows);
  return `The agent "${of.agent.id}" ${isAllowed ? "may" : "may not"} use ${tool}${whoIn(of)}.\n${steps}`;
}

function whoIn({ peer, sender }: PolicyExplanation["of"]): string {
  const who = sender ? ` for ${sender.channel}:${sender.id}` : " for operators";
  return `${who}${peer ? ` in ${peer.channel}:${peer.chat.id}` : ""}`;
}

function shortLine({ tool, isAllowed, trace }: PlacedVerdict): readonly string[] {
  const against = trace.find(({ answer }) => answer !== "allowed");
  const because = against ? `${against.key} ${saying(against)} ${against.place ?? ""}` : "";
  return [tool, isAllowed ? "yes" : "no", because];
}
