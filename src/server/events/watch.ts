import type { RunEvent, RunStream } from "../../types/run/events.ts";
import { toAgentEvent } from "./agent-events.ts";
import type { Hub } from "../transport/hub.ts";
import { CONNECTION_POLICY } from "../transport/frames.ts";
import { ChatView } from "./chat-view.ts";
import type { TranscriptUpdate } from "../../types/session.ts";
import type { ServerPorts } from "../options.ts";
import { deltaEveryMs } from "./pace.ts";

type Ports = Pick<ServerPorts, "chat" | "events" | "sessions" | "log" | "clock"> & {
  /** What the followers of a session are told of an entry. */
  written(update: TranscriptUpdate): Promise<object>;
};

/** Publishes runs, the events of other modules and ticks to the connections until the signal aborts. */
export function watchEvents(ports: Ports, hub: Hub, signal: AbortSignal): void {
  const report = (error: unknown) => ports.log.error("event watching ended", { error });
  watchRuns(ports, hub, signal).catch(report);
  relayEvents(ports, hub, signal).catch(report);
  relayCompactions(ports, hub, signal).catch(report);
  relayUpdates(ports, hub, signal).catch(report);
  relaySettings(ports, hub, signal).catch(report);
  tick(ports, hub, signal);
}

async function relayUpdates(ports: Ports, hub: Hub, signal: AbortSignal): Promise<void> {
  const { sessions, clock, log } = ports;
  for await (const update of sessions.updates(signal)) {
    if (update.isNotice === true) hub.announceSession(update.key, "notice", clock.now());
    if (!hub.isFollowed(update.key)) continue;
    try {
      hub.announceTranscript(update, clock.now(), await ports.written(update));
    } catch (error) {
      log.warn("a written message cannot be read", { session: update.key, error });
      hub.announceTranscript(update, clock.now(), {});
    }
  }
}

async function relaySettings({ sessions, clock }: Ports, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const key of sessions.settingChanges(signal)) hub.announceSession(key, "patch", clock.now());
}

async function relayEvents(ports: Ports, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const event of ports.events(signal)) hub.publish(event);
}

async function relayCompactions({ chat }: Ports, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const { facts, event } of chat.compactions(signal)) {
    const published = toAgentEvent(facts, event, event.ts);
    if (published) hub.publish(published);
    if (event.type === "compaction" && event.phase === "end")
      hub.announceSession(facts.sessionKey, "compact", event.ts);
  }
}

async function watchRuns(ports: Ports, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const stream of ports.chat.runs(signal)) {
    watchRun(stream, ports, hub).catch((error: unknown) => {
      ports.log.error("run watching ended", { run: stream.facts.runId, error });
    });
  }
}

async function watchRun(stream: RunStream, ports: Ports, hub: Hub): Promise<void> {
  const view = new ChatView(stream.facts);
  // While nobody is connected, deltas wait for the end of their message, or for a client.
  const everyMs = (length: number) => (hub.size === 0 ? undefined : deltaEveryMs(length));
  const { runId } = stream.facts;
  try {
    for await (const event of stream.watch(1, { clock: ports.clock, everyMs, onWanted: (give) => hub.onJoin(give) })) {
      for (const gatewayEvent of view.show(event)) hub.publish(gatewayEvent);
      hub.runTexts.set(runId, view.text);
      if (isEdge(event) && stream.facts.trigger !== "api")
        hub.announceSession(stream.facts.sessionKey, "run", event.ts);
    }
  } finally {
    hub.runTexts.delete(runId);
  }
}

/** Whether a row of the session list changes: its run became active or ended. */
const isEdge = (event: RunEvent) => event.type === "run_start" || event.type === "run_end";

function tick(ports: Ports, hub: Hub, signal: AbortSignal): void {
  let cancel = (): void => undefined;
  const again = () => {
    cancel = ports.clock.after(CONNECTION_POLICY.tickIntervalMs, () => {
      hub.publish({ event: "tick", payload: { ts: ports.clock.now() } });
      again();
    });
  };
  again();
  signal.addEventListener("abort", () => cancel(), { once: true });
}
