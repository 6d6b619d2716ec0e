import { fields, isRecord, list, nonEmpty, timeIn } from "../model/json.ts";

/** The document `exec-approvals.json`. */
export type ApprovalsFile = Readonly<Record<string, unknown>>;

/** A command, or a pattern of commands, that runs without a question. */
export interface AllowedRow {
  readonly agent: string;
  readonly row: Readonly<Record<string, unknown>>;
  /** The command, or the pattern of the program. */
  readonly title: string;
  readonly args: string | undefined;
  readonly cwd: string | undefined;
  readonly givenBy: string | undefined;
  readonly lastUsedAt: number | undefined;
  readonly lastCommand: string | undefined;
}

/** Agents of the document that count for an agent: itself (`default` in older files), then all. */
const blocksOf = (agent: string): readonly string[] => (agent === "main" ? [agent, "default", "*"] : [agent, "*"]);

/** The rows that count for an agent, those used last first. */
export function allowedRows(file: ApprovalsFile, agent: string): readonly AllowedRow[] {
  const agents = fields(file["agents"]);
  const rows = blocksOf(agent).flatMap((block) =>
    list(fields(agents[block])["allowlist"])
      .filter(isRecord)
      .map((row) => readRow(block, row)),
  );
  return rows.toSorted((one, other) => (other.lastUsedAt ?? 0) - (one.lastUsedAt ?? 0));
}

const readRow = (agent: string, row: Readonly<Record<string, unknown>>): AllowedRow => ({
  agent,
  row,
  title: nonEmpty(row["commandText"]) ?? nonEmpty(row["pattern"]) ?? "",
  args: nonEmpty(row["argPattern"]),
  cwd: nonEmpty(row["cwd"]),
  givenBy: nonEmpty(row["givenBy"]),
  lastUsedAt: timeIn(row["lastUsedAt"]),
  lastCommand: nonEmpty(row["lastUsedCommand"]),
});

const RULE = ["pattern", "argPattern", "binding"] as const;

/** The document without a row, whatever was noted about its last use meanwhile; the same document when it lacks the row. */
export function withoutRow(file: ApprovalsFile, { agent, row }: AllowedRow): ApprovalsFile {
  const block = fields(fields(file["agents"])[agent]);
  const rows = list(block["allowlist"]);
  const isSame = (one: unknown): boolean => isRecord(one) && RULE.every((name) => one[name] === row[name]);
  const left = rows.filter((one) => !isSame(one));
  return left.length === rows.length ? file : withBlock(file, agent, { ...block, allowlist: left });
}

const withBlock = (file: ApprovalsFile, agent: string, block: object): ApprovalsFile => ({
  ...file,
  agents: { ...fields(file["agents"]), [agent]: block },
});

type Limit = "security" | "ask";

/** The document without what it says about a limit of an agent; the same document when it says nothing. */
export function withoutLimit(file: ApprovalsFile, agent: string, limit: Limit): ApprovalsFile {
  const agents = fields(file["agents"]);
  const found = blocksOf(agent).find((block) => fields(agents[block])[limit] !== undefined);
  if (found !== undefined) {
    const { [limit]: _limit, ...rest } = fields(agents[found]);
    return withBlock(file, found, rest);
  }
  const { [limit]: ofAll, ...defaults } = fields(file["defaults"]);
  return ofAll === undefined ? file : { ...file, defaults };
}
