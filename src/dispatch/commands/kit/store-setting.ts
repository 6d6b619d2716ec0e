import { inSession } from "../../../sessions/in-session.ts";
import type { Session, SessionPatch } from "../../../types/session.ts";
import type { CommandContext } from "./command.ts";

/**
 * Changes settings of the command's session, durably. A session that a run holds is changed without waiting for that
 * run.
 */
export async function storeSetting(
  { key, ports }: Pick<CommandContext, "key" | "ports">,
  patch: SessionPatch,
  held?: Session,
): Promise<void> {
  if (held) return held.update(patch, { now: true });
  if ((await ports.storage.sessions.patch(key, patch, { now: true })) !== undefined) return;
  await inSession(key, (session) => session.update(patch, { now: true }), ports.storage);
}

/**
 * Reads and stores a level that a command names. `default` removes the level; without a word, nothing changes. Returns
 * why the word is refused; undefined when the word is taken.
 */
export async function storeLevel<
  Name extends "verboseLevel" | "reasoningLevel" | "responseUsage" | "elevatedLevel" | "ttsAuto",
>(
  context: Pick<CommandContext, "args" | "key" | "ports">,
  field: Name,
  { levels, levelOf }: { readonly levels: readonly string[]; levelOf(word: string): SessionPatch[Name] },
  held?: Session,
): Promise<string | undefined> {
  const word = context.args.trim().toLowerCase();
  if (word === "") return undefined;
  const level = levelOf(word);
  if (word !== "default" && level === undefined)
    return `"${context.args}" is not a level. The levels are: ${levels.join(", ")}.`;
  await storeSetting(context, { [field]: level }, held);
  return undefined;
}
