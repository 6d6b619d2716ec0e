import { isFields } from "../../../utils/fields.ts";
import { textIn } from "../foreign.ts";
import { SDK_VERSION } from "../../sdk-version.ts";
import { completeFor } from "./llm.ts";
import { pluginLogger } from "./logging.ts";
import { sessionFiles } from "./session-files.ts";
import { refused } from "../refused.ts";
import { channelRuntimeOf } from "../registrations/channel/runtime.ts";
import type { PluginScope } from "../scope.ts";

/** `api.runtime`: what plugins may use of the running gateway. */
export function runtimeOf(scope: PluginScope, registrationMode: string): object {
  const { ports } = scope;
  const session = sessionFiles(scope);
  const config = { current: () => scope.shownConfig(), loadConfig: () => scope.shownConfig() };
  const requestHeartbeat = (reason: unknown) => ports.requestHeartbeat(typeof reason === "string" ? reason : scope.id);
  return {
    version: SDK_VERSION,
    registrationMode,
    config: { ...refused(scope, "api.runtime.config"), ...config },
    logging: {
      getChildLogger: (bindings: unknown) => pluginLogger(scope.log.with(isFields(bindings) ? bindings : {})),
      shouldLogVerbose: () => false,
    },
    llm: { complete: completeFor(scope) },
    state: { resolveStateDir: () => ports.stateDir },
    agent: {
      session,
      resolveAgentWorkspaceDir: () => ports.workspace(),
      resolveAgentDir: () => ports.workspace(),
    },
    channel: channelRuntimeOf(scope),
    system: {
      enqueueSystemEvent: (text: unknown, options: unknown) => enqueue(scope, text, options),
      requestHeartbeatNow: requestHeartbeat,
      requestHeartbeat,
    },
    subagent: refused(scope, "api.runtime.subagent"),
    tts: refused(scope, "api.runtime.tts"),
    media: refused(scope, "api.runtime.media"),
    modelAuth: refused(scope, "api.runtime.modelAuth"),
    // Plugins look here whether they may open their stores.
    inspection: { readOnly: registrationMode !== "full" },
    diagnostics: { readOnly: registrationMode !== "full" },
  };
}

function enqueue(scope: PluginScope, text: unknown, options: unknown): Promise<void> {
  if (typeof text !== "string" || text.trim() === "") throw new TypeError("enqueueSystemEvent takes a text");
  const sessionKey = isFields(options) ? textIn(options, "sessionKey") : undefined;
  return scope.ports.enqueueSystemEvent(text, { ...(sessionKey !== undefined && { sessionKey }) });
}
