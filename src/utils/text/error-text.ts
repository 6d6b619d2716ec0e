/** What an error says; anything may have been thrown. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
