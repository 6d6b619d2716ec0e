import type { RunStream } from "./events.ts";

/** A message of a channel's account, by the event that brought it. */
export interface MessageKey {
  readonly channel: string;
  readonly account: string;
  readonly eventKey: string;
}

/** A run that a message is part of. */
export interface MessageRun {
  readonly stream: RunStream;
  /** `seq` of the first event after the message joined the run; 1 unless the run had begun before. */
  readonly from: number;
}
