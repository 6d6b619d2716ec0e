/** What an error says; anything may have been thrown, also what cannot be made a text. */
export function errorText(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return "something that is no text";
  }
}
