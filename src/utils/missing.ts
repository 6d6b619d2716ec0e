/** The `code` of a Node error, such as `ENOENT`; undefined for any other. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** True for "no such file or directory". */
export const isMissing = (error: unknown): boolean => errorCode(error) === "ENOENT";

/** Resolves like `reading`, or to undefined when the file is missing. Rejects with every other error. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
