import { dirname } from "node:path";
import { CommanderError, type Command } from "commander";
import { fullDiskOr } from "../../../store/disk.ts";
import { wrongKind } from "../../../store/text-file.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { faultOf, pathOf, type AccessFault } from "../../../utils/access-fault.ts";
import { isInside } from "../../../utils/real-path.ts";
import { resolvePaths } from "../../config/paths.ts";
import { packageVersion } from "../../package-root.ts";
import { canAsk } from "../ask.ts";
import { failureJson, printFailure, parserError } from "../failure.ts";
import { drainOutput, endWithReader, safeIo, terminalIo, writeJson, type Io } from "../io.ts";
import { buildProgram } from "./program.ts";

/** Runs one command line and ends the process with its exit code (0, 1, 2, 75, 78). */
export async function runCli(args: readonly string[]): Promise<void> {
  endWithReader();
  const io = terminalIo(args, process.env);
  process.exitCode = await runCommand(io, args);
  await drainOutput();
  // Connections that are kept alive must not delay the end of a command.
  process.exit();
}

/** The same without ending the process. Never rejects. */
export async function runCommand(terminal: Io, args: readonly string[]): Promise<number> {
  const io = safeIo(terminal);
  const { program, exitCode } = await programFor(io, args);
  const line = colorFirst(withNestedHelp(program, args));
  try {
    if (args.length === 0 && io.isTerminal && canAsk(io))
      return await (await import("../commands/onboard/bare.ts")).runBare(io);
    if (args.length === 0) {
      program.outputHelp();
      return 0;
    }
    await program.parseAsync(line, { from: "user" });
    return exitCode();
  } catch (error) {
    const told = error instanceof CommanderError ? parserError(error, program, line) : error;
    const shown = await systemRefusal(io, told);
    if (shown === undefined) return 0;
    if (args.includes("--json")) writeJson(io, failureJson(shown));
    return printFailure(io, shown);
  }
}

/**
 * A refusal of the file system as an error for a person, also where it is why a write failed; any other error unchanged.
 */
async function systemRefusal(io: Io, told: unknown): Promise<unknown> {
  const isWrite = told instanceof OpenClawError && told.code === "DISK_WRITE";
  if (told instanceof OpenClawError && !isWrite) return told;
  const error = isWrite ? told.cause : told;
  const denied = await faultOf(error);
  if (isWrite && !denied) return told;
  const path = pathOf(error);
  if (!denied)
    return (
      (path === undefined ? undefined : await wrongKind(error, path)) ??
      fullDiskOr(error, path ?? "the files of this command")
    );
  return new OpenClawError("ACCESS_DENIED", {
    message: `This user cannot use ${denied.path}: ${denied.why}.`,
    fix: isInside(denied.path, resolvePaths(io.env).stateDir) ? denied.fix : elsewhere(denied),
    cause: error,
  });
}

/** Folders that are not the gateway's may be those of the system: nobody should take them over for one file. */
const elsewhere = ({ path, mode, fix }: AccessFault): string =>
  mode === undefined
    ? `Name another place, in which this user may write, or see whose it is: ls -ld ${dirname(path)} ${path}`
    : fix;

/** The one flag of the program itself that may stand anywhere, where the parser looks for it. */
function colorFirst(args: readonly string[]): readonly string[] {
  const others = args.filter((arg) => arg !== "--no-color");
  return others.length === args.length ? args : ["--no-color", ...others];
}

/** `help gateway run` as `gateway run --help`: the parser's own `help` takes one name. */
function withNestedHelp(program: Command, args: readonly string[]): readonly string[] {
  const [word, ...names] = args;
  if (word !== "help" || names.length < 2) return args;
  let command: Command | undefined = program;
  for (const name of names)
    command = command?.commands.find((one) => one.name() === name || one.aliases().includes(name));
  return command ? [...names, "--help"] : names;
}

/** Only a word that is no command of the gateway's loads plugins: those that add a command of this name. */
async function programFor(io: Io, args: readonly string[]): Promise<ReturnType<typeof buildProgram>> {
  const built = buildProgram(io, packageVersion(), args[0]);
  const word = args.find((arg) => !arg.startsWith("-"));
  if (word === undefined || word === "help" || built.program.commands.some((command) => command.name() === word))
    return built;
  const { loadPluginCommand } = await import("../plugin-command.ts");
  return (await loadPluginCommand(io, word)) ? buildProgram(io, packageVersion()) : built;
}
