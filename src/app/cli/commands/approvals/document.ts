import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { replaceApprovals, shownApprovals } from "../../../../store/exec-approvals-document.ts";
import type { RawApprovals } from "../../../../store/exec-approvals-edit.ts";
import { execApprovals, type ExecApprovals } from "../../../../tools/exec/rules/document.ts";
import { blocksFor } from "../../../../tools/exec/rules/policy.ts";
import { isFields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { approvalsPath, badApprovals } from "./file.ts";

export interface GetFlags {
  readonly agent?: string;
  readonly json?: boolean;
}

/** Prints the rows of `exec-approvals.json`, of all agents or of one. Never prints `socket`, which holds a token. */
export async function approvalsGet(io: Io, { agent, json }: GetFlags): Promise<number> {
  const path = approvalsPath(await readState(io));
  const { hash, file } = shownApprovals(path);
  const { defaults, agents } = execApprovals.parse(file);
  const blocks = agent === undefined ? agents : pick(agents, agent);
  if (json === true) {
    writeJson(io, { path, hash, file: { ...file, ...(agent !== undefined && { agents: blocks }) } });
    return 0;
  }
  io.out(`${path}\n`);
  for (const [name, limits] of [["defaults", defaults] as const, ...Object.entries(blocks)]) {
    const { security = "-", ask = "-", askFallback = "-" } = limits;
    io.out(`${withoutTerminalControls(name)}: security ${security}, ask ${ask}, askFallback ${askFallback}\n`);
  }
  const rows = Object.entries(blocks).flatMap(([name, { allowlist }]) => allowlist.map((row) => shownRow(name, row)));
  io.out(rows.length === 0 ? "No rows.\n" : table(io, ["AGENT", "PATTERN", "ARGUMENTS", "COMMAND", "LAST USED"], rows));
  return 0;
}

type Blocks = ExecApprovals["agents"];
type Row = Blocks[string]["allowlist"][number];

/** The blocks that count for an agent. */
const pick = (agents: Blocks, agent: string): Blocks => {
  const names = new Set(blocksFor(agent));
  return Object.fromEntries(Object.entries(agents).filter(([name]) => names.has(name)));
};

const shownRow = (
  agent: string,
  { pattern, argPattern = "", commandText = "", lastUsedAt }: Row,
): readonly string[] => [
  ...[agent, pattern, argPattern, commandText].map(withoutTerminalControls),
  lastUsedAt === undefined ? "" : `${showDuration(Date.now() - lastUsedAt)} ago`,
];

export interface SetFlags {
  readonly file?: string;
  readonly stdin?: boolean;
  readonly baseHash?: string;
  readonly json?: boolean;
}

/**
 * Replaces the document. `socket` stays as the file has it. Throws APPROVALS_UNUSABLE when the new document is not valid and
 * APPROVALS_CHANGED when the file has another hash than `baseHash`; the file then stays as it is.
 */
export async function approvalsSet(io: Io, flags: SetFlags): Promise<number> {
  const path = approvalsPath(await readState(io));
  const given = await givenDocument(flags);
  const { hash } = await replaceApprovals(path, given, { baseHash: flags.baseHash });
  if (flags.json === true) writeJson(io, { ok: true, path, hash });
  else io.out(`${path} was written.\n`);
  return 0;
}

async function givenDocument({ file, stdin }: SetFlags): Promise<RawApprovals> {
  if ((file === undefined) === (stdin !== true))
    throw badApprovals("The new document is needed once: --file <path> or --stdin.");
  const text = file === undefined ? await readAll(process.stdin) : await contentOf(file);
  try {
    const content: unknown = JSON.parse(text);
    if (isFields(content)) return content;
  } catch (error) {
    throw badApprovals(`The new document is no JSON: ${errorText(error)}.`);
  }
  throw badApprovals("The new document is no JSON object.");
}

const contentOf = (file: string): Promise<string> =>
  readFile(file, "utf8").catch((error: unknown) => {
    throw badApprovals(`The new document cannot be read: ${errorText(error)}.`);
  });
