import { readStringParam } from "./param-readers.ts";

export interface ToolSend {
  readonly to: string;
  readonly accountId: string | undefined;
  readonly threadId: string | undefined;
}

/** Where a call of a channel's tool sends something; null for a call that sends nothing. */
export function extractToolSend(args: Readonly<Record<string, unknown>>, action = "sendMessage"): ToolSend | null {
  const to = readStringParam(args, "to");
  if (readStringParam(args, "action") !== action || to === undefined) return null;
  const { threadId } = args;
  return {
    to,
    accountId: readStringParam(args, "accountId"),
    threadId: typeof threadId === "number" ? String(threadId) : readStringParam(args, "threadId"),
  };
}
