import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { approvalsNow, editApprovals, type RawApprovals } from "../../../../store/exec-approvals-edit.ts";
import { execApprovals, type ExecApprovals } from "../../../../tools/exec/rules/document.ts";
import { blocksFor } from "../../../../tools/exec/rules/policy.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { isFields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { showDuration, table } from "../../table.ts";
import { cleanText } from "../../terminal-text.ts";
import { pathOf, usage } from "./file.ts";

/** What a change can name as the state that it is for. Blanks between the words of the file make no difference. */
const hashOf = (document: RawApprovals): string => createHash("sha256").update(JSON.stringify(document)).digest("hex");

export interface GetFlags {
  readonly agent?: string;
  readonly json?: boolean;
}

/** Prints the rows of `exec-approvals.json`, of all agents or of one. Never prints `socket`, which holds a token. */
export async function approvalsGet(io: Io, { agent, json }: GetFlags): Promise<number> {
  const path = pathOf(await readState(io));
  const document = approvalsNow(path);
  const { socket: _socket, ...shown } = document;
  const { defaults, agents } = execApprovals.parse(document);
  const blocks = agent === undefined ? agents : pick(agents, agent);
  if (json === true) {
    writeJson(io, { path, hash: hashOf(document), file: { ...shown, ...(agent !== undefined && { agents: blocks }) } });
    return 0;
  }
  io.out(`${path}\n`);
  for (const [name, limits] of [["defaults", defaults] as const, ...Object.entries(blocks)]) {
    const { security = "-", ask = "-", askFallback = "-" } = limits;
    io.out(`${cleanText(name)}: security ${security}, ask ${ask}, askFallback ${askFallback}\n`);
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
  ...[agent, pattern, argPattern, commandText].map(cleanText),
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
  const path = pathOf(await readState(io));
  const given = await givenDocument(flags);
  let written = given;
  await editApprovals(path, (before) => {
    if (flags.baseHash !== undefined && flags.baseHash !== hashOf(before)) throw otherHash(path);
    const { socket: _socket, ...rest } = given;
    written = { ...rest, ...(before["socket"] !== undefined && { socket: before["socket"] }) };
    return written;
  });
  if (flags.json === true) writeJson(io, { ok: true, path, hash: hashOf(written) });
  else io.out(`${path} was written.\n`);
  return 0;
}

async function givenDocument({ file, stdin }: SetFlags): Promise<RawApprovals> {
  if ((file === undefined) === (stdin !== true))
    throw usage("The new document is needed once: --file <path> or --stdin.");
  const text = file === undefined ? await readAll(process.stdin) : await contentOf(file);
  try {
    const content: unknown = JSON.parse(text);
    if (isFields(content)) return content;
  } catch (error) {
    throw usage(`The new document is no JSON: ${errorText(error)}.`);
  }
  throw usage("The new document is no JSON object.");
}

const contentOf = (file: string): Promise<string> =>
  readFile(file, "utf8").catch((error: unknown) => {
    throw usage(`The new document cannot be read: ${errorText(error)}.`);
  });

const otherHash = (path: string): OpenClawError =>
  new OpenClawError("APPROVALS_CHANGED", {
    message: `${path} does not have the hash of --base-hash, so nothing was written.`,
    fix: "Read it again with openclaw approvals get --json, and repeat the change.",
  });
