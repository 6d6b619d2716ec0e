import { fields, list, shortNameIn, nonEmpty, number, stringOr } from "./json.ts";

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
export function readWaiting(value: unknown): readonly WaitingMessage[] {
  return list(fields(value)["messages"]).flatMap((item) => {
    const row = fields(item);
    const runId = nonEmpty(row["runId"]);
    if (runId === undefined) return [];
    const { id, name } = fields(row["sender"]);
    return [
      {
        id: number(row["id"]),
        runId,
        text: stringOr(row["text"]),
        files: number(row["files"]),
        at: number(row["receivedAt"]),
        sender: row["isOperator"] === true ? undefined : (shortNameIn(name) ?? shortNameIn(id)),
      },
    ];
  });
}
