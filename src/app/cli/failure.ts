import { styleText } from "node:util";
import type { Command, CommanderError } from "commander";
import { ERROR_CODES, OpenClawError } from "../../types/errors.ts";
import type { AccessFault } from "../../utils/access-fault.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { nearest } from "../config/keys/nearest.ts";
import type { Io } from "./io.ts";
import { cleanText } from "./terminal-text.ts";

/** Prints an error for a person. `denied`: what stands behind it. Returns its exit code. */
export function printFailure(io: Io, error: unknown, denied?: AccessFault): number {
  if (error instanceof OpenClawError) {
    io.err(`${head(io, `error ${error.code}:`)} ${cleanText(error.message)}\n`);
    for (const line of furtherProblems(error)) io.err(`  ${cleanText(line)}\n`);
    io.err(`fix: ${cleanText(error.fix)}\n`);
    if (io.verbose && error.stack !== undefined) io.err(`${error.stack}\n`);
    return ERROR_CODES[error.code].exit;
  }
  const message = denied ? `This user cannot use ${denied.path}: ${denied.why}.` : errorText(error);
  const fix = denied?.fix ?? "Run it again with OPENCLAW_DEBUG=1 to see where it failed.";
  io.err(`${head(io, "error:")} ${cleanText(message)}\n`);
  const stack = error instanceof Error ? error.stack : undefined;
  io.err(io.verbose ? `${stack ?? "no stack"}\n` : `fix: ${cleanText(fix)}\n`);
  return 1;
}

const head = (io: Io, text: string): string =>
  io.color && io.isErrTerminal ? styleText("red", text, { validateStream: false }) : text;

/** A config error lists all its problems; the message repeats the first. */
function furtherProblems(error: OpenClawError): readonly string[] {
  if (!("problems" in error) || !Array.isArray(error.problems)) return [];
  const texts = error.problems.flatMap((note: unknown) => {
    if (typeof note !== "object" || note === null || !("text" in note)) return [];
    return typeof note.text === "string" ? [note.text] : [];
  });
  return texts.slice(1);
}

/** An error of the command line's parser as an operator's error; undefined when it only showed help or the version. */
export function usageError(
  error: CommanderError,
  program: Command,
  args: readonly string[],
): OpenClawError | undefined {
  if (error.exitCode === 0) return undefined;
  const command = namedCommand(program, args);
  const see = `See \`${pathOf(command)} --help\`.`;
  if (error.code === "commander.help")
    return new OpenClawError("USAGE", { message: "A command is missing.", fix: see });
  const [first = "", ...others] = error.message.replace(/^error: /, "").split("\n");
  const word = misspelt(error, command, args);
  const hint = /Did you mean (?:one of )?(.*?)\?/.exec(others.join(" "))?.[1] ?? nearestCommand(word, command);
  const fix = hint === undefined ? see : `Did you mean ${hint}? ${see}`;
  const message = word === undefined ? first.replace(/\.$/, "") : `unknown command '${word}'`;
  return new OpenClawError("USAGE", { message: `${message}.`, fix });
}

/** The deepest command that the arguments name. */
function namedCommand(program: Command, args: readonly string[]): Command {
  let command = program;
  for (const word of args.filter((arg) => !arg.startsWith("-"))) {
    const next = command.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (!next) break;
    command = next;
  }
  return command;
}

/** A group with a default command reports a misspelt command as an extra argument. */
function misspelt(error: CommanderError, command: Command, args: readonly string[]): string | undefined {
  if (error.code !== "commander.excessArguments" || command.commands.length === 0) return undefined;
  const known = new Set(pathOf(command).split(" "));
  return args.find((arg) => !arg.startsWith("-") && !known.has(arg));
}

const nearestCommand = (word: string | undefined, command: Command): string | undefined =>
  word === undefined
    ? undefined
    : nearest(
        word,
        command.commands.map((child) => child.name()),
      );

function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
  return names.join(" ");
}
