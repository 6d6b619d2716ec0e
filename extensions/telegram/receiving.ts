import type { Update } from "grammy/types";
import type { Intake } from "./intake.ts";
import type { Room } from "./room.ts";

/** What both ways to receive work with. */
export interface Receiving {
  readonly room: Room;
  readonly intake: Intake;
  readonly signal: AbortSignal;
}

/** Kinds of updates that are asked for. Telegram leaves out reactions unless they are named. */
export const ALLOWED_UPDATES = [
  "message",
  "edited_message",
  "callback_query",
  "message_reaction",
] as const satisfies readonly (keyof Update)[];

/** Where the address of a webhook that we set is noted. */
export const WEBHOOK_NOTE = "webhook";
