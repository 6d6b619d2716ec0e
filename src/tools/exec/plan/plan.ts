import type { Script, Statement, Word, WordPart } from "unbash";
import { splitCommand, trimCommand, type SimpleCommand } from "./shell-words.ts";

/** A simple command of a plan. */
export interface PlannedCommand extends SimpleCommand {
  /** True when the command reads the output of the one before it. */
  readonly isPiped: boolean;
}

/** Most characters of a command that is parsed; a longer one counts as not understood. */
const MOST_CHARS = 20_000;

/**
 * The simple commands of a command whose meaning is plain: words and quotes without expansion, joined by `|`, `&&`,
 * `||` and `;`. A shell grammar and the tokenizer of `splitCommand` read the text independently and must agree.
 * Undefined for any other command: it is not understood, so a person must see it. Loads the grammar at the first call.
 */
export async function commandPlan(command: string): Promise<readonly PlannedCommand[] | undefined> {
  if (command.length > MOST_CHARS) return undefined;
  const tokens = splitCommand(command);
  if (tokens === undefined) return undefined;
  const parsed = await parse(trimCommand(command));
  return parsed === undefined ? undefined : agreed(tokens, parsed);
}

interface Parsed {
  readonly words: readonly string[];
  readonly isPiped: boolean;
}

async function parse(command: string): Promise<readonly Parsed[] | undefined> {
  const grammar = await import("unbash");
  try {
    const script = grammar.parse(command);
    return script.errors === undefined || script.errors.length === 0 ? commandsOf(script) : undefined;
  } catch {
    // A text that the grammar refuses is not understood.
    return undefined;
  }
}

function commandsOf({ commands, shebang }: Script): readonly Parsed[] | undefined {
  return shebang === undefined ? all(commands.map(ofStatement)) : undefined;
}

function ofStatement({ command, background }: Statement): readonly Parsed[] | undefined {
  return background === true ? undefined : ofNode(command, false);
}

function ofNode(node: Statement["command"], isPiped: boolean): readonly Parsed[] | undefined {
  if (node.type === "AndOr") return all(node.commands.map((one) => ofNode(one, false)));
  if (node.type === "Pipeline") {
    const isPlain = node.prefixes.length === 0 && node.operators.every((operator) => operator === "|");
    return isPlain ? all(node.commands.map((one, index) => ofNode(one, index > 0))) : undefined;
  }
  if (node.type !== "Command" || node.name === undefined || node.prefix.length > 0) return undefined;
  const words = [node.name, ...node.suffix].map((part) => (part.type === "Word" ? plainWord(part) : undefined));
  return words.every((word) => word !== undefined) ? [{ words, isPiped }] : undefined;
}

/** The text of a word in which nothing is expanded; undefined for any other word. */
function plainWord({ text, value, parts }: Word): string | undefined {
  const isPlain = parts === undefined ? !text.includes("\\") : parts.every(isPlainPart);
  return isPlain ? value : undefined;
}

/** Whether the shell expands nothing in a part. A backslash means itself between single quotes only. */
function isPlainPart(part: WordPart): boolean {
  if (part.type === "SingleQuoted") return true;
  if (part.type === "DoubleQuoted") return part.parts.every(isPlainPart);
  return part.type === "Literal" && !part.text.includes("\\");
}

/** All lists as one, or undefined when a list is missing. */
function all<T>(lists: readonly (readonly T[] | undefined)[]): readonly T[] | undefined {
  return lists.every((list) => list !== undefined) ? lists.flat() : undefined;
}

function agreed(tokens: readonly SimpleCommand[], parsed: readonly Parsed[]): readonly PlannedCommand[] | undefined {
  const isSame = tokens.length === parsed.length && tokens.every(({ words }, at) => areSame(words, parsed[at]?.words));
  return isSame ? tokens.map((token, at) => ({ ...token, isPiped: parsed[at]?.isPiped === true })) : undefined;
}

const areSame = (words: readonly string[], others: readonly string[] = []): boolean =>
  words.length === others.length && words.every((word, at) => word === others[at]);
