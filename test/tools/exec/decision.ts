import { resolve } from "node:path";
import { decideExec, type ConsideredCommand } from "../../../src/tools/exec/exec-policy.ts";
import { commandPlan } from "../../../src/tools/exec/plan/plan.ts";
import type { ExecRow } from "../../../src/tools/exec/rules/document.ts";
import { compileRow } from "../../../src/tools/exec/rules/rows.ts";
import type { FoundProgram } from "../../../src/types/run/backend.ts";
import { own } from "../../../src/utils/own.ts";
import type { ExecSettings } from "../../../src/types/settings.ts";

const CWD = "/agent/workspace";

/** A machine on which every bare name is in `/usr/bin`, and an agent that can write its workspace and `/tmp`. */
function programOn(word: string): FoundProgram {
  const path = word.includes("/") ? resolve(CWD, word) : `/usr/bin/${word}`;
  const isWritable = /^\/(?:agent|tmp)\//.test(path);
  return { path, real: path, ...(isWritable && { writable: "sha256:00" }) };
}

export async function considered(
  command: string,
  programs: Readonly<Record<string, string>> = {},
  startsOthers = false,
): Promise<ConsideredCommand> {
  const parts = await commandPlan(command);
  const found = (word: string): FoundProgram => {
    const real = own(programs, word);
    return { ...programOn(word), ...(real !== undefined && { real }), ...(startsOthers && { startsOthers }) };
  };
  return { command, parts: parts?.map((part) => ({ ...part, program: found(part.words[0] ?? "") })) };
}

interface Given {
  readonly allowed?: readonly string[];
  readonly rows?: readonly ExecRow[];
  /** The files behind links, by the words that name them. */
  readonly programs?: Readonly<Record<string, string>>;
  /** What the files of the programs show. */
  readonly startsOthers?: boolean;
}

/** What is decided about a command on that machine. */
export async function decisionOn(
  command: string,
  patch: Partial<ExecSettings> = {},
  { allowed = [], rows = [], programs, startsOthers }: Given = {},
): Promise<string> {
  const settings: ExecSettings = {
    security: "allowlist",
    ask: "on-miss",
    timeoutMs: 1000,
    safeBins: [],
    pathPrepend: [],
    ...patch,
  };
  const policy = { rows: rows.map(compileRow) };
  const rules = { isAllowed: (text: string) => allowed.includes(text), policy };
  return decideExec(await considered(command, programs, startsOthers), settings, rules);
}
