/** A slash command at the start of a message: `/think high`, `/new@some_bot hello`. */
export interface CommandCall {
  readonly name: string;
  readonly args: string;
}

const CALL = /^\/([a-z][a-z0-9_-]*)(?:@\w+)?(?:[ \t:]+|\n|$)/i;

export function parseCommand(text: string): CommandCall | undefined {
  const trimmed = text.trim();
  const found = CALL.exec(trimmed);
  if (!found?.[1]) return undefined;
  return { name: found[1].toLowerCase(), args: trimmed.slice(found[0].length).trim() };
}
