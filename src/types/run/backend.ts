import type { Acting } from "./principal.ts";
import type { UntrustedSource } from "./untrusted.ts";

/**
 * The files that the tools of one run can reach. The gateway's own machine is one implementation, a sandbox another. Paths
 * are as the model writes them: absolute, relative to the workspace, or with `~`. Every method rejects with a text for the
 * model when the rules of the run do not allow the path, or when the system refuses.
 */
export interface FileBackend {
  /** The absolute path, free of symbolic links, that a path means. The file need not exist. */
  locate(path: string, workspace: string, mode: AccessMode): Promise<string>;
  /** Opens a regular file for reading. The caller closes it. */
  open(path: string, workspace: string): Promise<ReadableFile>;
  /** Replaces or creates a file in one step, with the directories above it. Keeps the mode of an old file. */
  replace(file: { readonly path: string; readonly content: string }, workspace: string): Promise<void>;
  /** Whether a new file cannot have this path: something is there, if only a link. Rejects when the path leads through a link. */
  exists(path: string, workspace: string): Promise<boolean>;
  /** Creates a file that must not exist, with the directories above it. Rejects when the path leads through a link. */
  create(file: NewFile, workspace: string): Promise<void>;
  /** Removes a file, or a link itself. */
  remove(path: string, workspace: string): Promise<void>;
  /** Whether models read the file in every later turn, or programs run it by themselves. */
  shapesTurns(path: string, workspace: string): Promise<boolean>;
  /** The same files, of which none outside the workspace can be changed. */
  confined(): FileBackend;
  /** Keeps a result that is too long for a model in a file that these tools can read; gives its path. Removed after a day. */
  keep(text: string): Promise<string>;
  /** The entries of a directory that the rules let a model see, in no order; at most `most` are examined. */
  list(path: string, workspace: string, bounds: ListBounds): Promise<readonly FolderEntry[]>;
  /** Finds files by name. Gives `take` the path of each, as it is shown to the model; ends when `take` returns false. */
  findFiles(query: FileQuery, scope: SearchScope, take: (path: string) => boolean): Promise<SearchEnd>;
  /** Searches text. Gives `take` each line found; ends when `take` returns false. */
  searchText(query: TextQuery, scope: SearchScope, take: (line: FoundLine) => boolean): Promise<SearchEnd>;
}

export type AccessMode = "read" | "write";

export interface NewFile {
  readonly path: string;
  readonly content: string;
  /** The permission bits; the usual ones of a new file when unset. */
  readonly mode?: number | undefined;
}

/** A file opened for reading. A `FileHandle` of Node is one. */
export interface ReadableFile {
  /** Reads up to `length` bytes from `position`; `bytesRead` is 0 at the end of the file. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  /** Size in bytes, and the permission bits where the files have them. */
  stat(): Promise<{ readonly size: number; readonly mode?: number }>;
  close(): Promise<void>;
}

export interface ListBounds {
  readonly most: number;
  readonly signal: AbortSignal;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
}

export interface FileQuery {
  readonly path: string;
  /** A glob for names or paths. */
  readonly pattern: string;
}

export interface TextQuery {
  /** A file, or a directory that is searched with everything below it. */
  readonly path: string;
  /** A regular expression in Rust's syntax; plain text with `literal`. */
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** Only files that match this glob. */
  readonly glob?: string | undefined;
  /** Lines before and after each match that are reported too. */
  readonly context?: number | undefined;
  /** More matches than this are not needed, in one file or in all. */
  readonly limit: number;
}

export interface SearchScope {
  readonly workspace: string;
  readonly signal: AbortSignal;
}

/** A line of a file. `path` is as it is shown to the model. */
export interface FoundLine {
  readonly path: string;
  readonly number: string;
  /** `:` for a match, `-` for a line around it. */
  readonly mark: string;
  readonly text: string;
}

export interface SearchEnd {
  /** The time for one search ended before everything was searched. */
  readonly isLate: boolean;
  /** Some files could not be read. */
  readonly isPartial: boolean;
}

/** Where the commands of one run are executed: on the gateway's machine or, in another implementation, in a sandbox. */
export interface ExecBackend {
  readonly isSandbox?: true;
  /**
   * Whether the processes can neither reach a network nor write outside the workspace and a folder of their own, which is known once the
   * sandbox has been tried. They can where it is not there.
   */
  isIsolated?(): boolean;
  /** The processes can write the agent's workspace, where files are that shape later turns. False when unset. */
  readonly writesWorkspace?: boolean;
  /** The directories that processes can write, without links. Everywhere where it is not there. */
  writable?(): Promise<readonly string[]>;
  /** Facts that the model has to know about the place where commands run. */
  readonly note?: string;
  /** The absolute path of a directory to run in. Rejects with a text for the model when there is none, or the rules do not allow it. */
  directory(path: string, workspace: string): Promise<string>;
  /**
   * The files that a command names, as they are now; an approval is bound to them. Undefined when the command names more
   * directories than are searched.
   */
  filesOf(command: string, place: CommandPlace): Promise<readonly BoundFile[] | undefined>;
  /** Why a command may not run, because it names files that are the gateway's own alone; undefined when it names none. */
  whyClosed?(command: string, place: CommandPlace): Promise<string | undefined>;
  /**
   * The program that a word of a command starts, as the shell would find it. Undefined when there is none. The method
   * is missing where the programs are not those of the gateway's machine.
   */
  programOf?(word: string, place: CommandPlace): Promise<FoundProgram | undefined>;
  /**
   * Entries in the files of a directory that may make a program start another one, although the words of the command do
   * not say so. Undefined when there are none. The method is missing where that does not matter.
   */
  steeringOf?(command: SteeredCommand, place: CommandPlace): Promise<SteeringFiles | undefined>;
  /** Starts a command in a shell. Rejects only when no shell can be started. */
  start(line: CommandLine): Promise<RunningCommand>;
}

/** A program file. */
export interface FoundProgram {
  /** Absolute, as `PATH` leads to it. */
  readonly path: string;
  /** The file behind links. */
  readonly real: string;
  /**
   * The program's file does not show that the program is unable to start others. Unset when it does show that, or where
   * nobody looked.
   */
  readonly startsOthers?: true;
  /** Content of the file, as in a `BoundFile`, when the file lies where an agent can write without asking. */
  readonly writable?: string;
}

/** A simple command, with the program that it starts. */
export interface SteeredCommand {
  readonly words: readonly string[];
  readonly program?: FoundProgram | undefined;
}

/** Files, such as Git's settings, that may make a program start another one. */
export interface SteeringFiles {
  /** Completes "it may start another program, because of". */
  readonly why: string;
  /** Hash that changes with the content of these files. */
  readonly content: string;
}

/** A file that a command names, with its content when a person was asked. */
export interface BoundFile {
  /** Absolute, as the command leads to it. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** `sha256:` with 64 hex digits; `stat:` with identity and times of a file that is too large to be hashed. */
  readonly content: string;
}

export interface CommandPlace {
  readonly cwd: string;
  readonly workspace: string;
}

export interface CommandLine {
  readonly command: string;
  /** The program and its arguments, to be started without a shell. The shell reads `command` when unset. */
  readonly argv?: Launch["argv"] | undefined;
  /** As `directory` gave it. */
  readonly cwd: string;
  /** Milliseconds after which the command is ended with everything that it started; 0 for never. */
  readonly timeoutMs: number;
  /** Added to the environment that the backend makes; names that make a program load code are left out. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly input: CommandInput;
}

/**
 * Input of a command: `none` is an empty input, `pipe` is the text that `write` gives, and with `terminal` the output
 * goes to a pseudoterminal too.
 */
export type CommandInput = "none" | "pipe" | "terminal";

/** The run that gives a command an input. */
export interface Typist {
  readonly by: Acting;
  /** Untrusted content that, as far as the run knows, its conversation has read. */
  readonly sources: readonly UntrustedSource[];
}

/** A command that was started. It belongs to its starter, who must wait for its end or end it. */
export interface RunningCommand {
  /** The process id of the command's shell. */
  readonly pid: number;
  /** Ids of the command's processes that are not below its shell. Never rejects; takes long. */
  processes?(): Promise<readonly number[]>;
  /** Actual input of the command: `pipe` where a terminal was wanted and there is none. */
  readonly input: CommandInput;
  /** Why the command has no terminal although one was wanted, as a sentence. */
  readonly warning?: string;
  readonly output: RunningOutput;
  /** Resolves when the command has ended with everything that it started. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /** Writes to the command's input. Rejects with a text for the model when the input is closed. */
  write(data: Uint8Array, typist?: Typist): Promise<void>;
  /** Where content of others is from that its output may have, for a run; undefined for none that is known. */
  source?(reader: Acting): string | undefined;
  /** Closes the command's input; in a terminal, sends the character that means the end of a file. */
  closeInput(): Promise<void>;
  /** Ends the command with everything that it started: politely first, then by force. Only the first call counts. */
  end(because: "timeout" | "abort" | "limit"): void;
}

/** Output of a command until now, on both streams, without the secrets of this process and terminal controls. */
export interface RunningOutput {
  /** All characters of the output, also those that are no longer kept. */
  readonly size: number;
  /** Epoch milliseconds of the last output; of the command's start before any output. */
  readonly lastAt: number;
  /** The end of the output, at most the last 200,000 characters. */
  text(): string;
  /** Calls after each piece of output, until the returned function is called. */
  watch(changed: () => void): () => void;
}

export interface CommandEnd {
  readonly output: CommandOutput;
  /** Exit code; null when a signal ended the command. */
  readonly code: number | null;
  /** `limit`: the command took more than its sandbox allows; `note` says of what. */
  readonly because: "exit" | "timeout" | "abort" | "limit";
  /** Programs that could not be ended with the command. */
  readonly left: readonly LeftRunning[];
  /** Programs that the command had left in the background, and that were ended with it. */
  readonly endedToo?: readonly LeftRunning[];
  /** Measures of the sandbox about files that the command made, in sentences for the model. */
  readonly note?: string;
}

export interface CommandOutput {
  /** The end of the output: at most 50 KB and 2,000 lines. */
  readonly text: string;
  readonly truncated: boolean;
  /** A file with the whole output, up to 50 MB, that the file tools can read; only when `text` is not all. */
  readonly file?: string;
}

/** A process that a command left running. */
export interface LeftRunning {
  readonly pid: number;
  /** Program and arguments of the process, shortened. */
  readonly command: string;
}

/** A process that is about to be started. */
export interface Launch {
  /** The program, then its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Absolute. */
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** A launch that takes the place of the wanted process. */
export interface PreparedLaunch extends Launch, Pick<RunningCommand, "processes"> {
  /**
   * Called once, when the process has ended with everything that it started; without an end when it could not be
   * started. Resolves with facts about that for the model. Never rejects.
   */
  ended?(end?: CommandEnd): Promise<string | undefined>;
}

/** Decides how the processes of a run are started, for example inside a sandbox. */
export interface Launcher {
  /** The launch to start instead. Rejects with a text for the model when the process must not be started. */
  prepare(launch: Launch): Promise<PreparedLaunch>;
}

/** Files and commands that the tools of one run work on. */
export interface Backends {
  readonly files: FileBackend;
  readonly exec: ExecBackend;
}
