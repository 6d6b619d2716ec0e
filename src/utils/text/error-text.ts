/** Message of an error; `error` may be anything that was thrown, also a value that cannot be made a text. */
export function errorText(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return "something that is no text";
  }
}
