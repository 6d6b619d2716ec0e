import type { Acting } from "../run/principal.ts";
import type { UntrustedSource } from "../run/untrusted.ts";

/** A file that a tool has changed. */
export interface FileChange {
  /** Absolute, without links. */
  readonly path: string;
  /** The path that the file had before, when it was moved. */
  readonly from?: string;
  /** The change replaced the whole content of the file. */
  readonly isWhole: boolean;
  readonly by: Acting;
  /** Untrusted content that, as far as this run knows, its conversation has read. */
  readonly sources: readonly UntrustedSource[];
}

/** A command that is about to start, and that may change any files that it can. */
export interface CommandBegun {
  /** Directories that the command can write, without links; everywhere when unset. */
  readonly roots?: readonly string[] | undefined;
  readonly by: Acting;
  readonly sources: readonly UntrustedSource[];
  /** Where such content is from that a file has which the command names. */
  readonly named?: string | undefined;
}

/** A command whose changes of files are noted. */
export interface NotedCommand {
  /** Ends the command: later changes are not counted as its work. */
  end(): Promise<void>;
  /** Where content of others is from that it may have or show, for a run; undefined for none that is known. */
  source(reader: Acting): string | undefined;
}

/**
 * Keeps which files have content that others may have written: files that a conversation changed which had read such content, or that
 * acted for somebody who is no owner, and files that somebody else sent. No method rejects: a file that was written stays
 * written.
 */
export interface FileOrigins {
  changed(change: FileChange): Promise<void>;
  /**
   * Begins a command. Until it ends, each change where it can write has content that its conversation may have read.
   */
  began(command: CommandBegun): Promise<NotedCommand>;
  /**
   * Where such content of a file is from, for a run; undefined for none that is known. When the records cannot be read,
   * a text that says so. `path` has no links.
   */
  of(path: string, reader: Acting): Promise<string | undefined>;
  /** As `of`, for content that a command wrote, and no tool for files. */
  byCommand(path: string, reader: Acting): Promise<string | undefined>;
}
