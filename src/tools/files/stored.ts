import type { FileBackend, ReadableFile } from "../../types/run/backend.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { isMissing } from "../../utils/missing.ts";

const MAX_BYTES = 10 * 1024 * 1024;

export interface StoredText {
  readonly content: string;
  readonly mode: number | undefined;
}

/** Opens a file for `work`, and closes it afterwards. */
export async function withFile<T>(
  { path, workspace }: { readonly path: string; readonly workspace: string },
  files: FileBackend,
  work: (file: ReadableFile) => Promise<T>,
): Promise<T> {
  const file = await files.open(path, workspace);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/**
 * Reads a text that is to be changed. Rejects when the file may not be written, is larger than 10 MB, or is not UTF-8.
 */
export async function readToChange(path: string, files: FileBackend, workspace: string): Promise<StoredText> {
  // A file that may be read may still be closed to writing.
  await files.locate(path, workspace, "write");
  return withFile({ path, workspace }, files, async (file) => {
    const { size, mode } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} is larger than 10 MB.`);
    const bytes = await readBytes(file, size);
    const content = bytes.toString();
    if (!Buffer.from(content).equals(bytes)) throw new Error(`${path} is not UTF-8 text; changing it would damage it.`);
    return { content, mode };
  });
}

/** Most bytes of an old content that is compared with the new one. */
const MOST_COMPARED = 1024 * 1024;

/** The content at a path before a write: bytes, nothing, or a content that is too large or cannot be read. */
export type Before = { readonly kind: "bytes"; readonly bytes: Buffer } | { readonly kind: "missing" | "unknown" };

/**
 * Reads the content at a path before a write. Never rejects: the write itself checks whether the path may be written.
 */
export async function contentBefore(path: string, files: FileBackend, workspace: string): Promise<Before> {
  try {
    return await withFile({ path, workspace }, files, async (file): Promise<Before> => {
      const { size } = await file.stat();
      return size > MOST_COMPARED ? { kind: "unknown" } : { kind: "bytes", bytes: await readBytes(file, size) };
    });
  } catch (error) {
    // A content that cannot be read is not compared; the following write reports the fault of the path.
    return { kind: isMissing(error) ? "missing" : "unknown" };
  }
}

/**
 * Rejects unless the file has this content now: a full disk, or a file system with faults, must not look like success.
 */
export async function mustHold(
  { path, content }: { readonly path: string; readonly content: string },
  files: FileBackend,
  workspace: string,
): Promise<void> {
  const wanted = Buffer.from(content);
  const found = await withFile({ path, workspace }, files, async (file) => {
    const { size } = await file.stat();
    return { size, bytes: size === wanted.length ? await readBytes(file, size) : undefined };
  });
  if (found.bytes?.equals(wanted) === true) return;
  throw new Error(
    `${path} was written, but does not have the content that was written: ${wanted.length} bytes were written, and it has ` +
      `${found.bytes === undefined ? found.size : "as many, but other ones"} now. Another program may change it; read it again.`,
  );
}
