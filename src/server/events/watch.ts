import type { RunEvent, RunStream } from "../../types/run/events.ts";
import { toAgentEvent } from "./agent-events.ts";
import type { Hub } from "../transport/hub.ts";
import { POLICY } from "../transport/frames.ts";
import { ChatView } from "./chat-events.ts";
import type { ServerOptions } from "../options.ts";
import { Pace } from "./pace.ts";

type WatchOptions = Pick<ServerOptions, "chat" | "events" | "sessions" | "log" | "clock">;

/** Brings runs, the other rooms' events and ticks to the connections until the signal aborts. */
export function watchEvents(options: WatchOptions, hub: Hub, signal: AbortSignal): void {
  const report = (error: unknown) => options.log.error("event watching ended", { error });
  watchRuns(options, hub, signal).catch(report);
  relayEvents(options, hub, signal).catch(report);
  relayCompactions(options, hub, signal).catch(report);
  relayUpdates(options, hub, signal).catch(report);
  tick(options, hub, signal);
}

async function relayUpdates({ sessions, clock }: WatchOptions, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const update of sessions.updates(signal)) hub.tellTranscript(update, clock.now());
}

async function relayEvents(options: WatchOptions, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const event of options.events(signal)) hub.publish(event);
}

async function relayCompactions({ chat }: WatchOptions, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const { facts, event } of chat.compactions(signal)) {
    const told = toAgentEvent(facts, event, event.ts);
    if (told) hub.publish(told);
    if (event.type === "compaction" && event.phase === "end") hub.tellSession(facts.sessionKey, "compact", event.ts);
  }
}

async function watchRuns(options: WatchOptions, hub: Hub, signal: AbortSignal): Promise<void> {
  for await (const stream of options.chat.runs(signal)) {
    watchRun(stream, options, hub).catch((error: unknown) => {
      options.log.error("run watching ended", { run: stream.facts.runId, error });
    });
  }
}

async function watchRun(stream: RunStream, options: WatchOptions, hub: Hub): Promise<void> {
  const view = new ChatView(stream.facts);
  const pace = new Pace(options.clock, (event: RunEvent) => {
    for (const gatewayEvent of view.show(event)) hub.publish(gatewayEvent);
    if (isEdge(event) && stream.facts.trigger !== "api") hub.tellSession(stream.facts.sessionKey, "run", event.ts);
  });
  for await (const event of stream.watch()) pace.push(event);
}

/** Where a row of the session list changes: it has an active run now, or no more. */
const isEdge = (event: RunEvent) => event.type === "run_start" || event.type === "run_end";

function tick(options: WatchOptions, hub: Hub, signal: AbortSignal): void {
  let cancel = (): void => undefined;
  const again = () => {
    cancel = options.clock.after(POLICY.tickIntervalMs, () => {
      hub.publish({ event: "tick", payload: { ts: options.clock.now() } });
      again();
    });
  };
  again();
  signal.addEventListener("abort", () => cancel(), { once: true });
}
