import type { Answers } from "openclaw/plugin-sdk/answers";
import { shortNameIn } from "./json.ts";

/** A message that waits for its turn in the open session. */
export interface WaitingMessage {
  /** Row for `inbox.drop`. */
  readonly id: number;
  readonly runId: string;
  readonly text: string;
  readonly files: number;
  readonly at: number;
  /** Author of the message, if not the operator. */
  readonly sender?: string | undefined;
}

/** Reads the answer of `sessions.queue`. */
export const readWaiting = ({ messages }: Answers["sessions.queue"]): readonly WaitingMessage[] =>
  messages.flatMap(({ id, runId, text, files, receivedAt: at, sender, isOperator }) =>
    runId === undefined
      ? []
      : [
          {
            id,
            runId,
            text,
            files,
            at,
            sender: isOperator === true ? undefined : (shortNameIn(sender.name) ?? shortNameIn(sender.id)),
          },
        ],
  );
