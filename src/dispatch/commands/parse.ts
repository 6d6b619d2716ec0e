/** A slash command at the start of a message: `/think high`. */
export interface CommandCall {
  readonly name: string;
  readonly args: string;
}

const CALL = /^\/([a-z][a-z0-9_-]*)(?:[ \t:]+|\n|$)/i;

/**
 * Undefined for `/new@some_bot`: an adapter removes this bot's own name from a command, so a name that is left is another
 * bot's.
 */
export function parseCommand(text: string): CommandCall | undefined {
  const trimmed = text.trim();
  const found = CALL.exec(trimmed);
  if (!found?.[1]) return undefined;
  return { name: found[1].toLowerCase(), args: trimmed.slice(found[0].length).trim() };
}
