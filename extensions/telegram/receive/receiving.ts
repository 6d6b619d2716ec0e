import type { Intake } from "./intake.ts";
import type { Room } from "../room.ts";

/** What both ways to receive work with. */
export interface Receiving {
  readonly room: Room;
  readonly intake: Intake;
  readonly signal: AbortSignal;
}

/** Where the address of a webhook that we set is noted. */
export const WEBHOOK_NOTE = "webhook";
