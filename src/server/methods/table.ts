import type { Method } from "../../types/method.ts";
import { deviceMethods } from "./devices.ts";
import { agentRunMethods } from "./agent.ts";
import { approvalMethods } from "./approvals.ts";
import { pairingCodeMethods } from "./pairing.ts";
import { questionMethods } from "./questions.ts";
import { branchMethods } from "./branches.ts";
import { chatMethods } from "./chat.ts";
import { historyMethods } from "./history.ts";
import { artifactMethods } from "./artifacts.ts";
import { sessionMethods } from "./sessions.ts";
import { statusMethods } from "./status.ts";
import type { ServerPorts } from "../options.ts";
import type { MethodParts } from "./parts.ts";
import { sessionActMethods } from "./session-acts.ts";
import { sessionGroupMethods } from "./session-groups.ts";
import { startupMethods } from "./startup.ts";
import { pushMethods } from "./push.ts";
import { patchMethods } from "./patch.ts";
import { toolCallMethods } from "./tools.ts";

/**
 * The methods about conversations: they need the server's connections, the sessions and dispatch. Those about the other parts of
 * the gateway (config, channels, jobs, plugins) are in app/gateway/methods.
 */
export function serverMethods(ports: ServerPorts, parts: MethodParts): readonly Method[] {
  return [
    ...chatMethods(ports, parts.hub),
    ...historyMethods(ports, parts.hub),
    ...artifactMethods(ports),
    ...agentRunMethods(ports),
    ...sessionMethods(ports, parts),
    ...startupMethods(ports, parts.hub),
    ...sessionGroupMethods(ports, parts.hub),
    ...sessionActMethods(ports, parts.hub),
    ...branchMethods(ports, parts.hub),
    ...patchMethods(ports, parts),
    ...statusMethods(ports, parts),
    ...toolCallMethods(ports),
    ...approvalMethods(ports, parts.hub),
    ...pairingCodeMethods(ports, parts.hub),
    ...questionMethods(ports, parts.hub),
    ...deviceMethods(ports, parts),
    ...pushMethods(parts),
  ];
}
