import type { BoundFile, ExecBackend } from "../../types/run/backend.ts";
import type { ExecSettings } from "../../types/settings.ts";
import type { ApprovalDesk, ApprovalQuestion, ToolContext } from "../../types/run/tool.ts";
import { allowanceFor } from "./exec-allowance.ts";
import { changedIn, MOST_FILES } from "./bound-files.ts";
import { allowanceTexts, decideExec } from "./exec-policy.ts";
import { whyUnreadable } from "./hidden.ts";
import { shownPath } from "../shown-path.ts";
import { trimCommand } from "./shell-words.ts";

/** The commands that owners allowed permanently. */
export interface Allowances {
  isAllowed(agent: string, allowance: string): Promise<boolean>;
}

export interface ExecOptions {
  readonly settings: ExecSettings;
  readonly rules: Allowances;
  readonly backend: ExecBackend;
  /** The turn acts for an owner, so permanent allowances count. */
  readonly hasOwnerRights: boolean;
}

export const REFUSALS: Readonly<Record<Refused, string>> = {
  deny: "A person refused this command. Do not try it in another form; ask the user what to do instead.",
  timeout:
    "Nobody answered the question whether this command may run, so it was not run. Tell the user that it waits for approval.",
  abort: "The run was stopped before this command began; it was not run.",
  unshown:
    "The command was not run, and nobody can be asked about it: the question does not fit into one message of this chat. " +
    "Put the command into a script file and run that.",
};
type Refused = Exclude<Awaited<ReturnType<ApprovalDesk["ask"]>>, "allow-once" | "allow-always">;

const REASON = "It is not on the list of commands that run without asking.";

/** Most questions about one command whose files change while a question waits. */
const MOST_QUESTIONS = 3;

const TOO_MANY_DIRECTORIES =
  "The command was not run, and nobody can be asked about it: it names so many directories that the files in them cannot " +
  "be compared; name fewer at a time.";

/** A command in the directory that it is to run in, which is absolute. */
export interface Wanted {
  readonly command: string;
  readonly cwd: string;
}

/** The files that a command names, as they are now. */
const bound = ({ command, cwd }: Wanted, { backend }: ExecOptions, { workspace }: ToolContext) =>
  backend.filesOf(command, { cwd, workspace });

/** Parts of the command that are permanently allowed with the present content of their files. Guests have no allowances. */
async function allowedTexts(
  { command, cwd }: Wanted,
  options: ExecOptions,
  context: ToolContext,
): Promise<ReadonlySet<string>> {
  if (!options.hasOwnerRights) return new Set();
  const isAllowed = async (text: string) => {
    const files = await bound({ command: text, cwd }, options, context);
    const allowance = files && allowanceFor({ command: text, cwd, files });
    return allowance !== undefined && (await options.rules.isAllowed(context.agentId, allowance));
  };
  const texts = allowanceTexts(command);
  const answers = await Promise.all(texts.map(isAllowed));
  return new Set(texts.filter((_text, index) => answers[index] === true));
}

/** The refusal, or undefined when the command may run. Run it at once, before its files can change. */
export async function refusal(wanted: Wanted, options: ExecOptions, context: ToolContext): Promise<string | undefined> {
  const { settings } = options;
  const allowed = await allowedTexts(wanted, options, context);
  const decision = decideExec(wanted.command, settings, { isAllowed: (text) => allowed.has(text) });
  if (decision === "run") {
    return undefined;
  }
  if (decision === "deny") {
    const why = settings.security === "deny" ? "commands are switched off" : "only listed commands run here";
    return `The command was not run: ${why} (tools.exec).`;
  }
  return askUntilSame(wanted, options, context);
}

/** Asks for approval. Asks again when the files that the command names changed in the meantime. */
async function askUntilSame(wanted: Wanted, options: ExecOptions, context: ToolContext): Promise<string | undefined> {
  let reason = options.settings.ask === "always" ? "Every command is asked about." : REASON;
  let files = await bound(wanted, options, context);
  for (let questions = 0; questions < MOST_QUESTIONS; questions += 1) {
    if (files === undefined) return TOO_MANY_DIRECTORIES;
    const unreadable = whyNotAskable(wanted, files);
    if (unreadable !== undefined) {
      return `The command was not run, and nobody can be asked about it: ${unreadable}.`;
    }
    const answer = await context.approvals.ask(questionFor(wanted, files, { reason, options }), context.signal);
    if (answer !== "allow-once" && answer !== "allow-always") return REFUSALS[answer];
    const now = await bound(wanted, options, context);
    const changed = now === undefined ? [] : changedIn(files, now);
    if (now !== undefined && changed.length === 0) return undefined;
    reason = `Changed since the last question: ${changed.map((path) => shownPath(path, wanted.cwd)).join(", ")}.`;
    files = now;
  }
  return "The command was not run: the files that it names changed each time while a person was asked about it.";
}

function whyNotAskable({ command, cwd }: Wanted, files: readonly BoundFile[]): string | undefined {
  if (files.length > MOST_FILES)
    return `it names ${files.length} files, more than the ${MOST_FILES} that a question can show; name fewer at a time`;
  return whyUnreadable(command, [cwd, ...files.map(({ path }) => path)]);
}

/** The desk stores a permanent allowance; a guest's turn offers none. */
function questionFor(
  { command, cwd }: Wanted,
  files: readonly BoundFile[],
  { reason, options }: { reason: string; options: ExecOptions },
): ApprovalQuestion {
  const allowance = options.hasOwnerRights ? allowanceFor({ command, cwd, files }) : undefined;
  return { command: trimCommand(command), cwd, reason, files, ...(allowance !== undefined && { allowance }) };
}
