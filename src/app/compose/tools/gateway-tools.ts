import type { DispatchPorts } from "../../../dispatch/ports.ts";
import { cronTool } from "../../../tools/cron/cron.ts";
import { gatewayTool } from "../../../tools/gateway/gateway.ts";
import { type OtherSessions, otherSessionTools, sessionTools } from "../../../tools/session/session-tools.ts";
import { ttsContribution } from "../../../tools/media/tts.ts";
import type { Speaker } from "../../../types/media/speech.ts";
import type { CronActs } from "../../../types/cron/acts.ts";
import type { GatewayActs } from "../../../types/gateway-acts.ts";
import type { ToolContribution } from "../../../types/run/tool.ts";
import { chatTools } from "./chat-acts.ts";
import { sessionActs } from "./session-acts.ts";

/** The tools that need more than the backends of a run. The tools call `ports` when they are used, not before. */
export const gatewayTools = (
  sources: Parameters<typeof chatTools>[0],
  ports: () => DispatchPorts,
  daemon: { gatewayActs?(ports: () => DispatchPorts): GatewayActs; cronActs?(): CronActs | undefined },
  { speaker, ...others }: OtherSessions & { readonly speaker?: Speaker | undefined },
): readonly ToolContribution[] => {
  const acts = daemon.gatewayActs?.(ports);
  return [
    ...chatTools(sources),
    ...sessionTools(sessionActs(sources.live, ports)),
    ...otherSessionTools(others),
    ...(speaker ? [ttsContribution(speaker)] : []),
    ...(acts ? [gatewayTool(acts)] : []),
    ...(daemon.cronActs ? [cronTool(daemon.cronActs)] : []),
  ];
};
