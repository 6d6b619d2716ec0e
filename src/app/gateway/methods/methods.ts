import type { Method } from "../../../types/method.ts";
import { agentMethods } from "../agents/agent-methods.ts";
import { approvalFileMethods } from "./approval-file-methods.ts";
import { channelMethods } from "./channel-methods.ts";
import { commandMethods } from "./command-methods.ts";
import { configMethods } from "../config/config-methods.ts";
import { configWriteMethods } from "../config/config-write-methods.ts";
import { cronMethods } from "./cron-methods.ts";
import { emptyMethods } from "./empty-methods.ts";
import { heartbeatMethods } from "./heartbeats.ts";
import { messageMethods } from "./message-methods.ts";
import { modelMethods } from "../models/model-methods.ts";
import { pairingMethods } from "../strangers/pairing-methods.ts";
import { pluginMethods } from "./plugin-methods.ts";
import { pluginListMethods } from "./plugin-list-methods.ts";
import { policyMethods } from "./policy-methods.ts";
import type { MovingIn } from "../import/moving-in.ts";
import type { Parts } from "../parts/parts.ts";
import { runMethods } from "./run-methods.ts";
import { sendMethods } from "./send-methods.ts";
import { sessionSearchMethods } from "./session-search-methods.ts";
import { skillMethods } from "./skill-methods.ts";
import { speechMethods } from "./speech-methods.ts";
import { taskMethods } from "./task-methods.ts";
import { toolMethods } from "./tool-methods.ts";
import { usageMethods } from "../usage/usage-methods.ts";
import { systemMethods } from "../lifecycle/system-methods.ts";
import { wizardMethods } from "./wizard-methods.ts";

/**
 * The methods about the parts of the gateway: config, channels, jobs, plugins and so on. Those about conversations are in
 * server/methods.
 */
export const gatewayMethods = (parts: Parts, movingIn?: MovingIn): readonly Method[] => [
  ...parts.channels.methods(),
  ...agentMethods(parts),
  ...approvalFileMethods(parts),
  ...channelMethods(parts),
  ...commandMethods(parts),
  ...configMethods(parts),
  ...configWriteMethods(parts),
  ...cronMethods(parts),
  ...emptyMethods(parts),
  ...heartbeatMethods(parts),
  ...messageMethods(parts),
  ...modelMethods(parts),
  ...pluginListMethods(parts),
  ...pairingMethods(parts),
  ...pluginMethods(parts),
  ...policyMethods(parts),
  ...runMethods(parts),
  ...sendMethods(parts),
  ...sessionSearchMethods(parts),
  ...skillMethods(parts),
  ...speechMethods(parts),
  ...systemMethods(parts),
  ...taskMethods(parts),
  ...toolMethods(parts),
  ...usageMethods(parts),
  ...wizardMethods(parts, movingIn),
];
