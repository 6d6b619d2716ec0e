import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { editApprovals } from "../../../../store/exec-approvals-edit.ts";
import { isInterpreter, isRunner, isWrapper } from "../../../../tools/exec/programs/kinds.ts";
import { removedRows, withRows } from "../../../../tools/exec/rules/edit-rows.ts";
import { blocksFor } from "../../../../tools/exec/rules/policy.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { resolveAgents } from "../../../config/settings.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { approvalsPath, badApprovals } from "./file.ts";

const ALL = "*";

export interface RowFlags {
  readonly agent?: string;
  readonly argPattern?: string;
  readonly json?: boolean;
}

/** Adds a row for one agent, or for all with `*`. A row with the same patterns stays as it is. */
export async function allowlistAdd(io: Io, pattern: string, flags: RowFlags): Promise<number> {
  const state = await requireState(io);
  const agent = agentIn(state, flags.agent);
  const { argPattern } = flags;
  checkPatterns(pattern, argPattern);
  const row = { id: randomUUID(), pattern, ...(argPattern !== undefined && { argPattern }) };
  let isNew = true;
  await editApprovals(approvalsPath(state), (document) =>
    withRows(document, agent, (rows) => {
      isNew = !rows.some(
        (one) => one["pattern"] === pattern && one["argPattern"] === argPattern && one["binding"] === undefined,
      );
      return isNew ? [...rows, row] : rows;
    }),
  );
  if (flags.json === true) writeJson(io, { ok: true, agent, pattern, added: isNew });
  else io.out(`${withoutTerminalControls(pattern)} ${isNew ? "is" : "was already"} on the list of ${whose(agent)}.\n`);
  return 0;
}

function checkPatterns(pattern: string, argPattern: string | undefined): void {
  if (pattern.trim() === "") throw badApprovals("The pattern is empty.");
  const shown = withoutTerminalControls(pattern);
  if (isWrapper(pattern))
    throw badApprovals(`${shown} starts the program that its arguments name, so no row lets it run.`);
  if (argPattern === undefined && (isInterpreter(pattern) || isRunner(pattern)))
    throw badApprovals(`${shown} runs code that its arguments name, so a row for it needs --arg-pattern.`);
  if (argPattern === undefined) return;
  try {
    new RegExp(argPattern, "su");
  } catch (error) {
    throw badApprovals(`--arg-pattern is no regular expression: ${errorText(error)}.`);
  }
}

/** Removes the rows with this pattern or id from the list of one agent, or from that of all with `*`. Throws NOT_FOUND. */
export async function allowlistRemove(io: Io, named: string, flags: RowFlags): Promise<number> {
  const state = await requireState(io);
  const agent = agentIn(state, flags.agent);
  const blocks = blocksFor(agent).filter((block) => block !== ALL || agent === ALL);
  let hasChanged = false;
  await editApprovals(approvalsPath(state), (document) => {
    const after = blocks.reduce((now, block) => withRows(now, block, removedRows(named)), document);
    hasChanged = after !== document;
    return after;
  });
  if (!hasChanged) {
    throw new OpenClawError("NOT_FOUND", {
      message: `The list of ${whose(agent)} has no row with the pattern or id ${named}.`,
      fix: "See the rows: openclaw approvals get. --agent names another agent, or * for the list of all agents.",
    });
  }
  if (flags.json === true) writeJson(io, { ok: true, agent, removed: named });
  else io.out(`${withoutTerminalControls(named)} is no longer on the list of ${whose(agent)}.\n`);
  return 0;
}

const whose = (agent: string): string => (agent === ALL ? "all agents" : `the agent ${agent}`);

function agentIn({ config, paths }: State, id: string | undefined): string {
  if (id === ALL) return ALL;
  const agents = resolveAgents(config, { home: process.env["HOME"] ?? homedir(), stateDir: paths.stateDir });
  const found = id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
  if (found) return found.id;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no agent ${id}.`,
    fix: `The agents are: ${agents.map((agent) => agent.id).join(", ")}.`,
  });
}
