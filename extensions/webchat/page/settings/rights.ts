import { fields, list, nonEmpty, stringOr } from "../model/json.ts";

/** A fact about the rights of a turn in the session, and its source. */
export interface Right {
  readonly label: string;
  readonly value: string;
  /** The key, with its place in the file, or a sentence. */
  readonly source: string | undefined;
}

/** A tool, and the step of the policy that decided. */
export interface ToolRight {
  readonly tool: string;
  readonly isAllowed: boolean;
  readonly source: string | undefined;
}

/** Rights of a turn that an operator writes in the session. */
export interface Rights {
  readonly sandbox: readonly Right[];
  readonly exec: readonly Right[];
  readonly tools: readonly ToolRight[];
}

/** Reads the answer of `sessions.describe`. An older gateway does not send it: then the lists are empty. */
export function readRights(answer: unknown): Rights {
  const { sandbox, exec, tools } = fields(answer);
  return { sandbox: readSandbox(fields(sandbox)), exec: readExec(fields(exec)), tools: list(tools).map(readTool) };
}

const ROWS = [
  ["mode", "Mode"],
  ["backend", "Backend"],
  ["scope", "Scope"],
  ["workspaceAccess", "Workspace access"],
] as const;

function readSandbox(sandbox: Readonly<Record<string, unknown>>): readonly Right[] {
  const { commands, why, works } = sandbox;
  if (typeof commands !== "boolean") return [];
  const rows = ROWS.flatMap(([name, label]): readonly Right[] => {
    const value = nonEmpty(sandbox[name]);
    const source = name === "backend" && works === false ? "does not work on this machine" : undefined;
    return value === undefined ? [] : [{ label, value, source }];
  });
  const where = commands ? "in the sandbox" : "on the machine";
  return [{ label: "Commands run", value: where, source: nonEmpty(why) }, ...rows];
}

const EXEC = [
  ["host", "Host"],
  ["security", "Security"],
  ["ask", "Ask"],
] as const;

function readExec(exec: Readonly<Record<string, unknown>>): readonly Right[] {
  return EXEC.flatMap(([name, label]): readonly Right[] => {
    const setting = fields(exec[name]);
    const value = nonEmpty(setting["value"]);
    return value === undefined ? [] : [{ label, value, source: sourceOf(setting) ?? "default" }];
  });
}

function readTool(item: unknown): ToolRight {
  const tool = fields(item);
  const stage = nonEmpty(tool["stage"]);
  const source = sourceOf(tool);
  return {
    tool: stringOr(tool["tool"]),
    isAllowed: tool["allowed"] === true,
    source: stage === undefined || source === undefined ? undefined : `${stage}: ${source}`,
  };
}

function sourceOf({ key, place }: Readonly<Record<string, unknown>>): string | undefined {
  const [of, at] = [nonEmpty(key), nonEmpty(place)];
  return of === undefined || at === undefined ? of : `${of} (${at})`;
}
