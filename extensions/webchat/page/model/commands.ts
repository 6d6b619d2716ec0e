import type { Answers } from "openclaw/plugin-sdk/answers";

/** A command of chats, without slashes. */
export interface CommandRow {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly help: string;
  /** Words that may follow the name. */
  readonly choices: readonly string[];
  /** Whether anything may follow the name. */
  readonly takesText: boolean;
  /** Whether the command may also be a word of a message, and then holds for that message. */
  readonly isDirective: boolean;
}

/** Reads the answer of `commands.list`. */
export const readCommands = ({ commands }: Answers["commands.list"]): readonly CommandRow[] =>
  commands.map(({ name, textAliases, description, args, acceptsArgs, category }) => ({
    name,
    aliases: textAliases.map(withoutSlash).filter((alias) => alias !== name),
    help: description,
    choices: args?.[0]?.choices.map(({ value }) => value) ?? [],
    takesText: acceptsArgs,
    isDirective: category === "options",
  }));

const withoutSlash = (name: string): string => name.replace(/^\//, "");

/** A choice of a list of completions. */
export interface Completion {
  /** The word as the list shows it and as it is inserted, without a space after it. */
  readonly word: string;
  readonly help: string;
  /** Whether something may follow, so that a space comes after it. */
  readonly isOpen: boolean;
}

/** Completions of the word before the cursor, which begins at `from`. */
export interface Completions {
  readonly from: number;
  readonly kind: "command" | "choice";
  /** Text of the word before the cursor. */
  readonly typed: string;
  readonly items: readonly Completion[];
}

/** The call of a command before the cursor: its name, and white space up to the word at the cursor. */
const CALL_BEFORE = /(^|\s)\/([a-z][a-z0-9_-]*)[ \t]+$/i;

/**
 * The completions of the word that ends at the cursor: names of commands at the start of a message, names of directives anywhere,
 * and after a name the words that may follow it. Undefined when there are none.
 */
export function completionsAt(draft: string, cursor: number, commands: readonly CommandRow[]): Completions | undefined {
  if (/^\S/.test(draft.slice(cursor))) return undefined;
  const from = draft.slice(0, cursor).search(/\S*$/);
  const typed = draft.slice(from, cursor);
  const isFirst = draft.slice(0, from).trim() === "";
  const isName = typed.startsWith("/");
  const items = isName
    ? namesFor(typed.slice(1).toLowerCase(), isFirst, commands)
    : choicesFor(typed.toLowerCase(), draft.slice(0, from), commands);
  return items.length === 0 ? undefined : { from, typed, kind: isName ? "command" : "choice", items };
}

/** Names of commands that fit. In the middle of a message a lone slash is no beginning of a directive. */
function namesFor(typed: string, isFirst: boolean, commands: readonly CommandRow[]): readonly Completion[] {
  if (!isFirst && typed === "") return [];
  const offered = isFirst ? commands : commands.filter(({ isDirective }) => isDirective);
  return offered.flatMap((command) => {
    const { name, aliases, help, takesText } = command;
    const fitting = [name, ...aliases].filter((one) => one.startsWith(typed));
    // A person who writes an alias in full keeps it.
    const word = fitting.find((one) => one === typed) ?? fitting[0];
    if (word === undefined) return [];
    return [{ word: `/${word}`, help, isOpen: takesText }];
  });
}

/** Words that a command takes and a directive does not, because they are no values for one message. */
const ALONE: ReadonlySet<string> = new Set(["default", "list", "status"]);

function choicesFor(typed: string, before: string, commands: readonly CommandRow[]): readonly Completion[] {
  const call = CALL_BEFORE.exec(before);
  const name = call?.[2]?.toLowerCase() ?? "";
  const command = commands.find((one) => one.name === name || one.aliases.includes(name));
  if (call === null || command === undefined) return [];
  const isFirst = before.slice(0, call.index).trim() === "";
  if (!isFirst && !command.isDirective) return [];
  const offered = isFirst ? command.choices : command.choices.filter((choice) => !ALONE.has(choice));
  const fitting = offered.filter((choice) => choice.startsWith(typed));
  // A list of the one word that is there already helps nobody.
  if (fitting.length === 1 && fitting[0] === typed) return [];
  return fitting.map((word) => ({ word, help: "", isOpen: false }));
}

/** Whether the word at the cursor is already the word that the completion would insert. */
export const isTyped = ({ typed }: Completions, { word }: Completion): boolean => typed.toLowerCase() === word;

/** The message with the completion in place of the word at the cursor, and where the cursor is then. */
export function completed(
  draft: string,
  { from, typed }: Completions,
  { word, isOpen }: Completion,
): { readonly draft: string; readonly cursor: number } {
  const rest = draft.slice(from + typed.length);
  const inserted = isOpen && rest === "" ? `${word} ` : word;
  const cursor = from + inserted.length + (isOpen && rest !== "" ? 1 : 0);
  return { draft: `${draft.slice(0, from)}${inserted}${rest}`, cursor };
}

/** The commands with the models as words that may follow `/model`. */
export const withModels = (commands: readonly CommandRow[], models: readonly string[]): readonly CommandRow[] =>
  commands.map((command) =>
    command.name === "model" ? { ...command, choices: [...command.choices, ...models] } : command,
  );
