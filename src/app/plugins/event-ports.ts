import { runsOf, stopMessage } from "../../dispatch/clients/message-runs.ts";
import { plainStream } from "../../dispatch/clients/plain-stream.ts";
import type { PluginEventPorts, PluginRunPorts } from "../../plugins/ports.ts";
import { toAgentEvent } from "../../server/events/agent-events.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { Log } from "../../types/log.ts";
import { background } from "../../utils/background.ts";
import type { Core } from "../compose/core.ts";

/** The events of the gateway that plugins may follow. */
export const followingPorts = (
  { dispatch, sessions }: Pick<Core, "dispatch" | "sessions">,
  log: Log,
): Pick<PluginEventPorts, "followRuns" | "followTranscripts"> => ({
  followRuns(listener, signal) {
    const follow = async () => {
      for await (const stream of dispatch.registry.watch(signal))
        background("a plugin that follows a run", followRun(plainStream(stream), listener, signal), log);
    };
    background("a plugin that follows runs", follow(), log);
  },
  followTranscripts(listener, signal) {
    const follow = async () => {
      for await (const { key, file, entryId } of sessions.updates(signal))
        listener({ sessionFile: file, sessionKey: key, ...(entryId !== undefined && { messageId: entryId }) });
    };
    background("a plugin that follows transcripts", follow(), log);
  },
});

/** Ports for the runs of one message. */
export const runPorts = ({ dispatch, ports }: Pick<Core, "dispatch" | "ports">): PluginRunPorts => ({
  runsOf: (message, signal) => runsOf({ ...message, signal }, dispatch, ports),
  stopMessage: (key) => stopMessage(key, dispatch, ports),
});

async function followRun(stream: RunStream, listener: (event: object) => void, signal: AbortSignal): Promise<void> {
  let startedAt = 0;
  for await (const event of stream.watch()) {
    if (signal.aborted) return;
    if (event.type === "run_start") startedAt = event.startedAt;
    const found = toAgentEvent(stream.facts, event, startedAt);
    if (found && typeof found.payload === "object" && found.payload !== null) listener(found.payload);
  }
}
