import type { BoundFile, ExecBackend, Launch } from "../../types/run/backend.ts";
import type { ExecSettings } from "../../types/settings.ts";
import type { ApprovalAnswer, ApprovalQuestion, ToolContext } from "../../types/run/tool.ts";
import {
  bindingOf,
  changedSince,
  changedVariables,
  consider,
  isSamePlace,
  commandVariables,
  type ApprovalBinding,
  type Variables,
  type Wanted,
} from "./binding.ts";
import { MOST_FILES } from "./rules/bound-files.ts";
import { isContained } from "./contained.ts";
import { allowanceFor, type Allowance } from "./rules/exec-allowance.ts";
import {
  allowanceTexts,
  decideExec,
  grantsFor,
  isBuiltin,
  whySteered,
  type ConsideredCommand,
  type ExecDecision,
  type ExecRules,
  type Grant,
} from "./exec-policy.ts";
import { ELEVATED, type CommandWay } from "./elevation.ts";
import { whyUnshowable } from "./hidden.ts";
import { shownPath } from "../shown-path.ts";
import { trimCommand } from "./plan/shell-words.ts";
import { isUnasked, UNASKED_TEXTS, type Unasked } from "../../types/run/unasked.ts";
import { alsoSources, type UntrustedSource } from "../../types/run/untrusted.ts";
import { narrowed, narrowedAfter, NO_POLICY, type ExecPolicy } from "./rules/policy.ts";

/** The commands that owners allowed permanently, and the rules of the approvals document. */
export interface Allowances {
  isAllowed(agent: string, allowance: Allowance): Promise<boolean>;
  /** The rules for an agent; no limits and no rows when unset. */
  policy?(agent: string): Promise<ExecPolicy>;
  /** Called with the permissions of a command, right before it runs. Returns at once. Must not throw. */
  used?(agent: string, grants: readonly Grant[], cwd: string): void;
}

export interface ExecOptions {
  readonly settings: ExecSettings;
  readonly rules: Allowances;
  readonly backend: ExecBackend;
  /** True when the turn acts for an owner, so that permanent allowances count. */
  readonly hasOwnerRights: boolean;
  /** Level of a command that leaves the sandbox; unset for any other. */
  readonly elevated?: CommandWay["elevated"];
}

const REFUSALS: Readonly<Record<Exclude<Refused, Unasked>, string>> = {
  deny: "A person refused this command. Do not try it in another form; ask the user what to do instead.",
  timeout:
    "Nobody answered the question whether this command may run, so it was not run. Tell the user that it waits for approval.",
  abort: "The run was stopped before this command began; it was not run.",
};

/** The reason why the command was not run, and the next step, for the model. */
export function execRefusalText(answer: Refused): string {
  if (!isUnasked(answer)) return REFUSALS[answer];
  const instead = answer === "unshown" ? "Put the command into a script file and run that." : "Tell the user.";
  return `The command was not run, and nobody can be asked about it: ${UNASKED_TEXTS[answer]}. ${instead}`;
}

type Refused = Exclude<ApprovalAnswer, "allow-once" | "allow-always">;

const REASON = "It is not on the list of commands that run without asking.";

/** Most questions about one command whose files change while a question waits. */
const MOST_QUESTIONS = 3;

const TOO_MANY_DIRECTORIES =
  "The command was not run, and nobody can be asked about it: it names so many directories that the files in them cannot " +
  "be compared; name fewer at a time.";

const MOVED = "The command was not run: its directory was moved or replaced in the meantime.";

/**
 * The permission of a command with these variables of plugins, without a shell when there is an `argv`; or the reason
 * of a refusal, for the model.
 */
type Permit =
  | { readonly kind: "run"; readonly variables: Variables; readonly argv?: Launch["argv"] }
  | { readonly kind: "refused"; readonly text: string };

const refused = (text: string): Permit => ({ kind: "refused", text });

/** Facts about a command before the decision. */
interface Case {
  readonly wanted: Wanted;
  readonly variables: Variables;
  readonly considered: ConsideredCommand;
  /** Settings as strict as the config and the approvals document together. */
  readonly settings: ExecSettings;
  readonly rules: ExecRules;
  /** Untrusted content that the conversation has read. */
  readonly untrusted: readonly UntrustedSource[];
}

/** Decides whether a command may run. The caller runs it at once, before its files can change. */
export async function permit(wanted: Wanted, options: ExecOptions, context: ToolContext): Promise<Permit> {
  const known = await caseOf(wanted, options, context);
  if (typeof known === "string") return refused(`The command was not run: ${known}.`);
  const { settings, untrusted, variables } = known;
  const decision = decide(known);
  if (decision === "run") return started(known, { options, context });
  if (decision === "deny") return denied(known, options);
  if (isContained(options.backend, settings, untrusted)) return { kind: "run", variables };
  return askUntilSame(known, options, context);
}

/** Facts about a command that a decision needs of its turn. */
type JudgingContext = Pick<ToolContext, "agentId" | "workspace" | "untrusted" | "commandEnv">;

/** The facts of a command, or why the place takes no such command. */
async function caseOf(wanted: Wanted, options: ExecOptions, context: JudgingContext): Promise<Case | string> {
  const closed = await options.backend.whyClosed?.(wanted.command, { cwd: wanted.cwd, workspace: context.workspace });
  if (closed !== undefined) return closed;
  const policy = await policyNow(options, context);
  const variables = await commandVariables(context);
  const considered = await consider(wanted, options.backend, context);
  const allowed = await allowedTexts({ wanted, variables, considered }, { options, context });
  const rules = { policy, isAllowed: (text: string) => allowed.has(text) };
  const untrusted = (await context.untrusted?.()) ?? [];
  const settings = narrowedAfter(narrowed(options.settings, policy), untrusted);
  return { wanted, variables, considered, settings, rules, untrusted };
}

/** What would become of a command, and the setting or the permissions that decide. */
export type CommandVerdict =
  | { readonly decision: "deny"; readonly by: "place"; readonly why: string }
  | { readonly decision: "deny"; readonly by: "security" | "ask" }
  | { readonly decision: "run"; readonly by: "security" | "sandbox" }
  | { readonly decision: "run"; readonly by: "list"; readonly grants: readonly Grant[] }
  | { readonly decision: "ask"; readonly by: "ask" | "list"; readonly why: string };

/** Decides about a command without running it and without asking anybody. */
export async function judge(wanted: Wanted, options: ExecOptions, context: JudgingContext): Promise<CommandVerdict> {
  const known = await caseOf(wanted, options, context);
  if (typeof known === "string") return { decision: "deny", by: "place", why: known };
  const { considered, settings, rules, untrusted } = known;
  switch (decide(known)) {
    case "deny":
      return { decision: "deny", by: settings.security === "deny" ? "security" : "ask" };
    case "run":
      if (settings.security === "full") return { decision: "run", by: "security" };
      return { decision: "run", by: "list", grants: grantsFor(considered, settings, rules) };
    case "ask":
      if (isContained(options.backend, settings, untrusted)) return { decision: "run", by: "sandbox" };
      return { decision: "ask", by: settings.ask === "always" ? "ask" : "list", why: reasonOf(known) };
  }
}

const decide = ({ considered, settings, rules }: Case): ExecDecision => decideExec(considered, settings, rules);

const policyNow = async ({ rules }: ExecOptions, { agentId }: Pick<ToolContext, "agentId">): Promise<ExecPolicy> =>
  (await rules.policy?.(agentId)) ?? NO_POLICY;

function denied(known: Case, options: ExecOptions): Permit {
  const why = known.settings.security === "deny" ? "commands are switched off" : "only listed commands run here";
  return refused(`The command was not run: ${why} (${keysOf(known, options)}).`);
}

/** Key or file that an operator changes to let commands run. */
const keysOf = ({ settings, rules: { policy } }: Case, { settings: own }: ExecOptions): string =>
  policy.isOffInConfig === true || (settings.security === own.security && settings.ask === own.ask)
    ? "tools.exec"
    : "exec-approvals.json";

/** Constants during the decision about a tool call. */
interface Asking {
  readonly options: ExecOptions;
  readonly context: ToolContext;
}

/** The same, where nobody is asked. */
type Judging = Pick<Asking, "options"> & { readonly context: JudgingContext };

/**
 * Permits a command that the list allows. One plain command is started by its words, so that no shell reads the text
 * once more.
 */
async function started(known: Case, { options, context }: Asking): Promise<Permit> {
  const { wanted, variables, considered, settings, rules } = known;
  if (!(await isSamePlace(wanted, options.backend, context))) return refused(MOVED);
  if (settings.security !== "full")
    options.rules.used?.(context.agentId, grantsFor(considered, settings, rules), wanted.cwd);
  const [only, ...others] = considered.parts ?? [];
  if (settings.security === "full" || only?.program === undefined || others.length > 0 || isBuiltin(only))
    return { kind: "run", variables };
  return { kind: "run", variables, argv: [only.program.path, ...only.words.slice(1)] };
}

/**
 * Parts of the command that are permanently allowed with the present content of their files. Guests have no allowances.
 */
async function allowedTexts(
  { wanted: { cwd }, variables: given, considered }: Pick<Case, "wanted" | "variables" | "considered">,
  { options, context }: Judging,
): Promise<ReadonlySet<string>> {
  if (!options.hasOwnerRights) return new Set();
  const variables = Object.keys(given);
  const isAllowed = async (text: string) => {
    const files = await options.backend.filesOf(text, { cwd, workspace: context.workspace });
    const allowance = files && allowanceFor({ command: text, cwd, files, variables });
    return allowance !== undefined && (await options.rules.isAllowed(context.agentId, allowance));
  };
  const texts = allowanceTexts(considered);
  const answers = await Promise.all(texts.map(isAllowed));
  return new Set(texts.filter((_text, index) => answers[index] === true));
}

/** Asks for approval. Asks again when a file or program of the command changed in the meantime. */
async function askUntilSame(known: Case, options: ExecOptions, context: ToolContext): Promise<Permit> {
  const { wanted } = known;
  let reason = reasonOf(known);
  let binding = await bindingOf(wanted, options.backend, context);
  for (let questions = 0; questions < MOST_QUESTIONS; questions += 1) {
    if (binding === undefined) return refused(TOO_MANY_DIRECTORIES);
    const unreadable = whyNotAskable(wanted, binding.files);
    if (unreadable !== undefined)
      return refused(`The command was not run, and nobody can be asked about it: ${unreadable}.`);
    const answer = await context.approvals.ask(questionFor(wanted, binding, { reason, options }), context.signal);
    if (answer !== "allow-once" && answer !== "allow-always" && !runsUnanswered(answer, known))
      return refused([execRefusalText(answer), ...(answer === "unattended" ? whyUnlistable(known) : [])].join(" "));
    const now = await bindingOf(wanted, options.backend, context);
    if (!(await isSamePlace(wanted, options.backend, context))) return refused(MOVED);
    const changed = now === undefined ? [] : changesBetween(binding, now, wanted);
    if (now !== undefined && changed.length === 0) {
      const later = underPolicy(known, await policyNow(options, context));
      return decide(later) === "deny" ? denied(later, options) : { kind: "run", variables: now.variables };
    }
    reason = `Changed since the last question: ${changed.join(", ")}.`;
    binding = now;
  }
  return refused(
    "The command was not run: the files that it names, or its variables, changed each time while a person was asked about it.",
  );
}

/** Advice for a program that no list allows, because agents could replace it. */
function whyUnlistable({ considered: { parts = [] } }: Case): readonly string[] {
  const own = parts.find(({ program }) => program?.writable !== undefined)?.program?.path;
  if (own === undefined) return [];
  return [`No list allows ${own}, because agents can write there: a program in another directory can be listed.`];
}

/** The same command under the operator's present files, which may have become stricter while a question waited. */
const underPolicy = (known: Case, policy: ExecPolicy): Case => ({
  ...known,
  settings: narrowed(known.settings, policy),
  rules: { ...known.rules, policy },
});

/** Changes between two bindings for a person: paths of files and programs, and names of variables. */
const changesBetween = (before: ApprovalBinding, now: ApprovalBinding, { cwd }: Wanted): readonly string[] => [
  ...changedSince(before, now).map((path) => shownPath(path, cwd)),
  ...changedVariables(before, now).map((name) => `the variable ${name}`),
];

/** Whether a command runs without an answer, or without anybody to ask: `tools.exec.askFallback`. */
function runsUnanswered(answer: Refused, known: Case): boolean {
  const fallback = known.settings.askFallback ?? "deny";
  if ((answer !== "timeout" && !isUnasked(answer)) || fallback === "deny") return false;
  return fallback === "full" || decide({ ...known, settings: { ...known.settings, ask: "off" } }) === "run";
}

function reasonOf({ settings, untrusted, considered, rules: { policy } }: Case): string {
  if (policy.broken !== undefined) return policy.broken;
  const steered = whySteered(considered);
  if (steered !== undefined) return `It may start another program, because of ${steered}.${alsoSources(untrusted)}`;
  return settings.ask === "always" ? "Every command is asked about." : `${REASON}${alsoSources(untrusted)}`;
}

function whyNotAskable({ command, cwd }: Wanted, files: readonly BoundFile[]): string | undefined {
  if (files.length > MOST_FILES)
    return `it names ${files.length} files, more than the ${MOST_FILES} that a question can show; name fewer at a time`;
  return whyUnshowable(command, [cwd, ...files.map(({ path }) => path)]);
}

/** The question about a command. The desk stores a permanent allowance; a guest's turn offers none. */
function questionFor(
  { command, cwd }: Wanted,
  { files, variables: given, parts }: ApprovalBinding,
  { reason, options }: { reason: string; options: ExecOptions },
): ApprovalQuestion {
  const variables = Object.keys(given).toSorted();
  const isSteered = whySteered({ parts }) !== undefined;
  const allowance = options.hasOwnerRights ? allowanceFor({ command, cwd, files, variables, isSteered }) : undefined;
  return {
    command: trimCommand(command),
    cwd,
    reason: options.elevated === undefined ? reason : `${ELEVATED} ${reason}`,
    files,
    ...(variables.length > 0 && { variables }),
    ...(allowance && { allowance: allowance.key }),
  };
}
