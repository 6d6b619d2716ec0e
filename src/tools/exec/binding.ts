import type { BoundFile, ExecBackend } from "../../types/run/backend.ts";
import type { ToolContext } from "../../types/run/tool.ts";
import { own } from "../../utils/own.ts";
import { changedIn } from "./rules/bound-files.ts";
import type { ConsideredCommand, KnownCommand } from "./exec-policy.ts";
import { commandPlan } from "./plan/plan.ts";

/** A command with its directory, which is absolute and free of links. */
export interface Wanted {
  readonly command: string;
  readonly cwd: string;
}

/** Variables that plugins add to the environment of a command. */
export type Variables = Readonly<Record<string, string>>;

/**
 * Everything that an approval covers besides the text: the files that a command names, the programs that it starts, its
 * variables.
 */
export interface ApprovalBinding {
  readonly files: readonly BoundFile[];
  readonly variables: Variables;
  readonly parts: readonly KnownCommand[] | undefined;
}

type Workspace = Pick<ToolContext, "workspace">;

/** Variables that plugins add now to the environment of a command. */
export const commandVariables = async ({ commandEnv }: Pick<ToolContext, "commandEnv">): Promise<Variables> =>
  (await commandEnv?.()) ?? {};

/** The command with its plan and its programs. */
export async function consider(
  { command, cwd }: Wanted,
  backend: ExecBackend,
  context: Workspace,
): Promise<ConsideredCommand> {
  const parts = await commandPlan(command);
  return { command, parts: parts && (await withPrograms(parts, { cwd, workspace: context.workspace }, backend)) };
}

const withPrograms = (
  parts: readonly KnownCommand[],
  place: { readonly cwd: string; readonly workspace: string },
  backend: ExecBackend,
): Promise<readonly KnownCommand[]> =>
  Promise.all(
    parts.map(async (part) => {
      const program = await backend.programOf?.(part.words[0] ?? "", place);
      return { ...part, program, steering: await backend.steeringOf?.({ ...part, program }, place) };
    }),
  );

/** The present binding of a command. Undefined when the command names too many directories. */
export async function bindingOf(
  wanted: Wanted,
  backend: ExecBackend,
  context: Workspace & Pick<ToolContext, "commandEnv">,
): Promise<ApprovalBinding | undefined> {
  const { command, cwd } = wanted;
  const variables = await commandVariables(context);
  const files = await backend.filesOf(command, { cwd, workspace: context.workspace });
  return files && { files, variables, parts: (await consider(wanted, backend, context)).parts };
}

/**
 * Names of the variables that are set, changed or removed since `before`. Their values may be secrets, so they are left
 * out.
 */
export function changedVariables(
  { variables: was }: ApprovalBinding,
  { variables: is }: ApprovalBinding,
): readonly string[] {
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...names].filter((name) => own(was, name) !== own(is, name)).toSorted();
}

/** Paths of files and programs that differ between two bindings. */
export function changedSince(before: ApprovalBinding, now: ApprovalBinding): readonly string[] {
  const was = new Map(partsOf(before).map((part) => [part.source, identityOf(part)]));
  const changed = partsOf(now).filter((part) => was.get(part.source) !== identityOf(part));
  return [...new Set([...changedIn(before.files, now.files), ...changed.map(({ words: [word = ""] }) => word)])];
}

const partsOf = ({ parts = [] }: ApprovalBinding): readonly KnownCommand[] => parts;

/**
 * Identity of the program of a simple command: the file behind its first word, and the content that may make that
 * program start another one.
 */
const identityOf = ({ program, steering }: KnownCommand): string =>
  program === undefined ? "" : JSON.stringify([program.path, program.real, program.writable, steering?.content]);

/** Whether the directory still is the same one: a parent may have become a link in the meantime. */
export async function isSamePlace({ cwd }: Wanted, backend: ExecBackend, { workspace }: Workspace): Promise<boolean> {
  try {
    return (await backend.directory(cwd, workspace)) === cwd;
  } catch {
    // The directory was removed, or leads where the rules allow nothing.
    return false;
  }
}
