import { functionOf } from "../foreign.ts";
import { mayReadConversations, refuseReading } from "../registrations/hooks.ts";
import type { PluginScope } from "../scope.ts";

/** `runtime.events`: what happens in runs, and writes of transcripts. Both need the right to read conversations. */
export function eventsOf(scope: PluginScope): object {
  const { events } = scope.ports;
  return {
    onAgentEvent: (listener: unknown) => follow(scope, "onAgentEvent", listener, events.followRuns),
    onSessionTranscriptUpdate: (listener: unknown) =>
      follow(scope, "onSessionTranscriptUpdate", listener, events.followTranscripts),
  };
}

type Follow = (listener: (event: object) => void, signal: AbortSignal) => void;

/** Gives the function that ends it. It ends with the plugin too. */
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
