import { isFields } from "../../../utils/fields.ts";
import { propertyOf } from "../../../utils/own.ts";
import { textIn, functionOf } from "../foreign.ts";
import { SDK_VERSION } from "../../sdk-version.ts";
import { commandRunner } from "./command.ts";
import { completeFor } from "../llm.ts";
import { pluginLogger } from "../logging.ts";
import { runtimeMedia } from "./media.ts";
import { sessionFilePlaces } from "../session-files.ts";
import { subagentOf } from "./subagent.ts";
import { rejecting } from "../refused.ts";
import { channelRuntimeOf } from "../registrations/channel/runtime.ts";
import type { PluginScope } from "../scope.ts";
import { mayReadConversations, refuseReading } from "../registrations/hooks.ts";

/** `api.runtime`: what plugins may use of the running gateway. */
export function runtimeOf(scope: PluginScope, registrationMode: string): object {
  const { ports } = scope;
  const session = sessionFilePlaces(scope);
  const config = { current: () => scope.shownConfig(), loadConfig: () => scope.shownConfig() };
  const requestHeartbeat = (reason: unknown) =>
    ports.events.requestHeartbeat(typeof reason === "string" ? reason : scope.id);
  return {
    version: SDK_VERSION,
    registrationMode,
    config: { ...rejecting(scope, "api.runtime.config"), ...config },
    logging: {
      getChildLogger: (bindings: unknown) => pluginLogger(scope.log.with(isFields(bindings) ? bindings : {})),
      shouldLogVerbose: () => false,
    },
    llm: { complete: completeFor(scope) },
    state: { resolveStateDir: () => ports.stateDir },
    agent: {
      ...rejecting(scope, "api.runtime.agent"),
      // As in the field: the names, not functions.
      get defaults() {
        return defaultModelIn(scope.shownConfig());
      },
      session: { ...rejecting(scope, "api.runtime.agent.session"), ...session },
      resolveAgentWorkspaceDir: () => ports.workspace(),
      resolveAgentDir: () => ports.workspace(),
    },
    channel: channelRuntimeOf(scope),
    events: eventsOf(scope),
    system: {
      ...rejecting(scope, "api.runtime.system"),
      runCommandWithTimeout: commandRunner(scope),
      enqueueSystemEvent: (text: unknown, options: unknown) => enqueue(scope, text, options),
      requestHeartbeatNow: requestHeartbeat,
      requestHeartbeat,
    },
    media: runtimeMedia(scope),
    subagent: subagentOf(scope),
    tts: rejecting(scope, "api.runtime.tts"),
    stt: rejecting(scope, "api.runtime.stt"),
    mediaUnderstanding: rejecting(scope, "api.runtime.mediaUnderstanding"),
    imageGeneration: { ...rejecting(scope, "api.runtime.imageGeneration"), listProviders: () => [] },
    webSearch: { ...rejecting(scope, "api.runtime.webSearch"), listProviders: () => [] },
    modelAuth: rejecting(scope, "api.runtime.modelAuth"),
    // Plugins read here whether they may open their stores.
    inspection: { readOnly: registrationMode !== "full" },
    diagnostics: { readOnly: registrationMode !== "full" },
  };
}

/** The model of `agents.defaults`, as the config names it. */
function defaultModelIn(config: unknown): { readonly provider: string; readonly model: string } {
  const model = propertyOf(propertyOf(propertyOf(config, "agents"), "defaults"), "model");
  const named = isFields(model) ? model["primary"] : model;
  const [provider = "", ...rest] = typeof named === "string" ? named.split("/") : [];
  return { provider, model: rest.join("/") };
}

function enqueue(scope: PluginScope, text: unknown, options: unknown): Promise<void> {
  if (typeof text !== "string" || text.trim() === "") throw new TypeError("enqueueSystemEvent takes a text");
  const sessionKey = isFields(options) ? textIn(options, "sessionKey") : undefined;
  return scope.ports.events.enqueueSystemEvent(text, { ...(sessionKey !== undefined && { sessionKey }) });
}

/** `runtime.events`: what happens in runs, and writes of transcripts. Both need the right to read conversations. */
function eventsOf(scope: PluginScope): object {
  const { events } = scope.ports;
  return {
    onAgentEvent: (listener: unknown) => follow(scope, "onAgentEvent", listener, events.followRuns),
    onSessionTranscriptUpdate: (listener: unknown) =>
      follow(scope, "onSessionTranscriptUpdate", listener, events.followTranscripts),
  };
}

type Follow = (listener: (event: object) => void, signal: AbortSignal) => void;

/** Gives the function that ends the listening. It ends with the plugin too. */
function follow(scope: PluginScope, name: string, listener: unknown, begin: Follow): () => void {
  const call = functionOf(listener, name);
  const stop = new AbortController();
  const end = () => stop.abort();
  if (!mayReadConversations(scope)) {
    refuseReading(scope, `runtime.events.${name}`);
    return end;
  }
  const tell = (event: object): void => {
    try {
      scope.call(name, () => call(event));
    } catch (error) {
      scope.log.warn("a plugin failed at an event", { event: name, error });
    }
  };
  begin(tell, AbortSignal.any([stop.signal, scope.signal]));
  return end;
}
