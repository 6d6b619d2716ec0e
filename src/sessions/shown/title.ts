import { readableName } from "../../utils/text/clean-text.ts";

interface Named {
  readonly label?: string | undefined;
  readonly displayName?: string | undefined;
  readonly subject?: string | undefined;
}

/**
 * The name of a session for people: the one that it was given, else that of its group or person; undefined when it has none. A row
 * of an earlier release or of another program has names as a platform sent them.
 */
export function shownTitle({ label, displayName, subject }: Named): string | undefined {
  const name = label ?? displayName ?? subject;
  return name === undefined ? undefined : readableName(name);
}
