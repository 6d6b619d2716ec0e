import type { Method } from "../../types/method.ts";
import { agentMethods } from "./agent.ts";
import { approvalMethods } from "./approvals.ts";
import { chatMethods } from "./chat.ts";
import { historyMethods } from "./history.ts";
import { sessionMethods } from "./sessions.ts";
import { statusMethods } from "./status.ts";
import type { MethodParts } from "./parts.ts";
import { patchMethods } from "./patch.ts";

/** The server's own methods. */
export function serverMethods(parts: MethodParts): readonly Method[] {
  const { options, hub } = parts;
  return [
    ...chatMethods(options),
    ...historyMethods(options),
    ...agentMethods(options),
    ...sessionMethods(options, hub),
    ...patchMethods(options, hub),
    ...statusMethods(parts),
    ...approvalMethods(options, hub),
  ];
}
