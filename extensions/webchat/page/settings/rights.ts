import type { Answers } from "openclaw/plugin-sdk/answers";
import { t } from "../words/words.ts";

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

type Described = Answers["sessions.describe"];

/** Reads the answer of `sessions.describe`. An older gateway does not send it: then the lists are empty. */
export const readRights = ({ sandbox, exec, tools = [] }: Described): Rights => ({
  sandbox: sandbox === undefined ? [] : readSandbox(sandbox),
  exec: exec === undefined ? [] : readExec(exec),
  tools: tools.map(readTool),
});

const ROWS = [
  ["mode", t("Mode")],
  ["backend", t("Backend")],
  ["scope", t("Scope")],
  ["workspaceAccess", t("Workspace access")],
] as const;

function readSandbox(sandbox: NonNullable<Described["sandbox"]>): readonly Right[] {
  const { commands, why, works } = sandbox;
  const rows = ROWS.flatMap(([name, label]): readonly Right[] => {
    const value = sandbox[name];
    const source = name === "backend" && works === false ? t("does not work on this machine") : undefined;
    return value === undefined ? [] : [{ label, value, source }];
  });
  return [
    { label: t("Commands run"), value: commands ? t("in the sandbox") : t("on the machine"), source: why },
    ...rows,
  ];
}

const EXEC = [
  ["host", t("Host")],
  ["security", t("Security")],
  ["ask", t("Ask")],
] as const;

const readExec = (exec: NonNullable<Described["exec"]>): readonly Right[] =>
  EXEC.map(([name, label]) => ({ label, value: exec[name].value, source: sourceOf(exec[name]) ?? t("default") }));

function readTool(right: NonNullable<Described["tools"]>[number]): ToolRight {
  const { tool, allowed: isAllowed, stage } = right;
  const source = sourceOf(right);
  return { tool, isAllowed, source: stage === undefined || source === undefined ? undefined : `${stage}: ${source}` };
}

interface Sourced {
  readonly key?: string | undefined;
  readonly place?: string | undefined;
}

const sourceOf = ({ key, place }: Sourced): string | undefined =>
  key === undefined || place === undefined ? key : `${key} (${place})`;
