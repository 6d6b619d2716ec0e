import { measure } from "../../history/measure-image.ts";
import type { PluginEventPorts, PluginMediaPorts } from "../../plugins/ports.ts";
import type { MediaStore } from "../../types/journal.ts";

/** Ports for plugins' questions about files. */
export const mediaPorts = (media: Pick<MediaStore, "typeOf">): PluginMediaPorts => ({
  typeOf: (bytes, facts) => media.typeOf(bytes, facts),
  sizeOf(bytes) {
    const found = measure(bytes);
    return found ? { width: found.width, height: found.height } : null;
  },
});

/** Ports for events in a process without a gateway, which has no events. */
export const noEventPorts: PluginEventPorts = {
  followRuns: () => undefined,
  followTranscripts: () => undefined,
  requestHeartbeat: () => undefined,
  say: () => undefined,
  enqueueSystemEvent: () => Promise.reject(new Error("only the running gateway can do this")),
};
