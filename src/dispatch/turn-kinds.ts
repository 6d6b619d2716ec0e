import type { TurnKind, TurnKinds } from "../types/run/turn-kind.ts";
import { kindNameOf } from "../types/run/turn-kind.ts";
import type { InboundMessage } from "../types/chat/message.ts";
import { clientPrompt } from "./client-tools.ts";

/** A message that somebody wrote, in a chat or at a client. */
export const MESSAGE = {
  name: "message",
  trigger: "message",
  takesCommands: true,
  queue: "by_mode",
  overCap: "by_config",
  transcript: "always",
  isUse: true,
  asks: "writer",
  refusals: "shown",
  answer: "streamed",
  maintenance: "full",
} as const satisfies TurnKind;

/** A request in OpenAI's protocol that continues a conversation. Each request is a turn of its own, because its client waits for it. */
const REQUEST = {
  ...MESSAGE,
  name: "request",
  queue: "alone",
  systemPrompt: ({ options }: InboundMessage) => options?.client && clientPrompt(options.client),
} as const satisfies TurnKind;

/** A request in OpenAI's protocol that contains its own history. */
export const ONE_SHOT = {
  ...MESSAGE,
  name: "one-shot",
  trigger: "api",
  takesCommands: false,
  queue: "alone",
  transcript: "never",
  isUse: false,
  maintenance: "none",
} as const satisfies TurnKind;

/** The turn before a compaction in which the agent saves its notes. */
export const MEMORY_FLUSH = {
  ...ONE_SHOT,
  name: "memory-flush",
  trigger: "memory",
  asks: "nobody",
  refusals: "logged",
  answer: "whole",
} as const satisfies TurnKind;

/** The kinds of dispatch itself. Other modules and plugins add theirs where the gateway is composed. */
export const TURN_KINDS: readonly TurnKind[] = [MESSAGE, REQUEST, ONE_SHOT, MEMORY_FLUSH];

/** A kind of a later version or of a removed plugin. A turn of this kind is never run and has no rights. */
const UNKNOWN: TurnKind = {
  ...MEMORY_FLUSH,
  name: "unknown",
  actsFor: () => ({ kind: "automation", id: "unknown", setUpBy: "guest" }),
};

/** The turn kinds by their names. Throws when two rows have one name. */
export function turnKinds(rows: readonly TurnKind[] = TURN_KINDS): TurnKinds {
  const byName = new Map(rows.map((row) => [row.name, row]));
  if (byName.size < rows.length) throw new Error("two turn kinds have the same name");
  return {
    of: ({ options }) => byName.get(kindNameOf(options)) ?? UNKNOWN,
    isKnown: ({ options }) => byName.has(kindNameOf(options)),
  };
}
