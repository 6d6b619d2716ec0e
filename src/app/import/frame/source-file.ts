import { constants, type ReadStream } from "node:fs";
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { unlessMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";
import { errorText } from "../../../utils/text/error-text.ts";

/** Something of the source that cannot be taken. The message says why, for the receipt of its item. */
export class SourceFault extends Error {
  /** What was thrown while the source was read, as a fault of the source. */
  static of(error: unknown): SourceFault {
    if (error instanceof SourceFault) return error;
    return new SourceFault(`it cannot be read: ${errorText(error)}`, { cause: error });
  }

  /** The fault that an error is, or that caused it: who writes what is read from the source gets the errors of both. */
  static in(error: unknown): SourceFault | undefined {
    for (let at = error; at instanceof Error; at = at.cause) if (at instanceof SourceFault) return at;
    return undefined;
  }
}

export interface SourceFile {
  /** Without symbolic links. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * The facts of a regular file that lies in `root`, which is a path without symbolic links; undefined when it is missing. Throws `SourceFault` for
 * everything else: a pipe never ends, and a link to a file outside would take over what is not OpenClaw's.
 */
export async function sourceFile(path: string, root: string): Promise<SourceFile | undefined> {
  try {
    const real = await unlessMissing(realpath(path));
    if (real === undefined) return undefined;
    if (!isInside(real, root)) throw new SourceFault("it is a link to a place outside of the source");
    const facts = await stat(real);
    if (!facts.isFile()) throw new SourceFault("it is no regular file");
    return { path: real, size: facts.size, mtimeMs: facts.mtimeMs };
  } catch (error) {
    throw SourceFault.of(error);
  }
}

/** The bytes of a regular file of the source, in blocks. Throws `SourceFault`. */
export async function openSourceFile(path: string, root: string, blockBytes: number): Promise<ReadStream> {
  const found = await sourceFile(path, root);
  if (!found) throw new SourceFault("it is no longer there");
  return (await openRegular(found.path)).createReadStream({ highWaterMark: blockBytes });
}

/** The text of a regular file of the source; undefined when it is missing. Throws `SourceFault`, also for a file of more than `mostBytes`. */
export async function readSourceText(path: string, root: string, mostBytes: number): Promise<string | undefined> {
  const found = await sourceFile(path, root);
  return found && (await readSmall(found.path, mostBytes));
}

/** Most bytes of a list, a record or a set of keys. */
export const SMALL_BYTES = 16 * 1024 * 1024;

/** A small file of the source: its text, undefined when it is missing, or why it cannot be read. */
export async function readListed(path: string, root: string): Promise<{ text?: string | undefined; why?: string }> {
  try {
    return { text: await readSourceText(path, root, SMALL_BYTES) };
  } catch (error) {
    return { why: SourceFault.of(error).message };
  }
}

/** The text of a regular file of at most `mostBytes`. Throws `SourceFault` for any other. */
export async function readSmall(path: string, mostBytes: number): Promise<string> {
  const file = await openRegular(path);
  try {
    if ((await file.stat()).size > mostBytes) throw new SourceFault(`it has more than ${mostBytes} bytes`);
    return await file.readFile("utf8");
  } catch (error) {
    throw SourceFault.of(error);
  } finally {
    await file.close();
  }
}

/** The JSON of a file or column; undefined when it has none: the other gateway reads nothing from it either. */
export function givenJson(value: unknown): unknown {
  try {
    return typeof value === "string" ? JSON.parse(value) : undefined;
  } catch {
    // The parser's message would quote the text, which may have keys.
    return undefined;
  }
}

/** Opens without waiting for the other end of a pipe, and looks at what was opened: the name may have changed since it was looked up. */
async function openRegular(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (error) {
    throw SourceFault.of(error);
  }
  throw new SourceFault("it is no regular file");
}
