import { isFields } from "../../../utils/fields.ts";
import { propertyOf } from "../../../utils/own.ts";
import { textIn, functionOf, numberIn, objectOf, textsIn } from "../foreign.ts";
import { SDK_VERSION } from "../../sdk-version.ts";
import { commandRunner } from "./command.ts";
import { completeFor } from "../llm.ts";
import { pluginLogger } from "../logging.ts";
import { sessionFilePlaces } from "../session-files.ts";
import { subagentOf } from "./subagent.ts";
import { forPlugin } from "../../exchanged-keys.ts";
import { rejecting } from "../refused.ts";
import { channelRuntimeOf } from "../registrations/channel/runtime.ts";
import type { PluginScope } from "../scope.ts";
import { mayReadConversations, refuseReading } from "../registrations/hooks.ts";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInside, realOf } from "../../../utils/real-path.ts";
import { safeFetch } from "../../../utils/net/safe-fetch.ts";
import { mediaKindOf } from "../../../types/chat/media-kind.ts";

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
  const { events, keys } = scope.ports;
  const named = isFields(options) ? textIn(options, "sessionKey") : undefined;
  return events.enqueueSystemEvent(text, keys.inner(named || "main"));
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
      scope.call(name, () => call(forPlugin(event, scope.ports.keys)));
    } catch (error) {
      scope.log.warn("a plugin failed at an event", { event: name, error });
    }
  };
  begin(tell, AbortSignal.any([stop.signal, scope.signal]));
  return end;
}

/** The most bytes of a file, where the plugin names no limit. */
const MOST_BYTES = 20 * 1_048_576;
const NO_TYPE = "application/octet-stream";

/** `runtime.media`: types of files, and files of the web, fetched as strangers' addresses are. */
function runtimeMedia(scope: PluginScope): object {
  const { media } = scope.ports;
  const detectMime = async (given: unknown): Promise<string | undefined> => {
    const { buffer, headerMime, filePath } = objectOf(given, "detectMime");
    const claimed = typeof headerMime === "string" ? { mime: headerMime } : {};
    if (!(buffer instanceof Uint8Array)) return claimed.mime;
    const found = await media.typeOf(buffer, { ...claimed, ...(typeof filePath === "string" && { name: filePath }) });
    return found === NO_TYPE ? undefined : found;
  };
  return {
    ...rejecting(scope, "api.runtime.media"),
    detectMime,
    mediaKindFromMime: (mime: unknown) => kindOf(typeof mime === "string" ? mime : undefined),
    isVoiceCompatibleAudio: (given: unknown) =>
      /^audio\/(?:ogg|opus)\b/.test(textIn(objectOf(given, "isVoiceCompatibleAudio"), "contentType") ?? ""),
    getImageMetadata: async (buffer: unknown) => (buffer instanceof Uint8Array ? media.sizeOf(buffer) : null),
    loadWebMedia: async (address: unknown, given?: unknown) => {
      const roots = isFields(given) ? textsIn(given, "localRoots") : undefined;
      const { bytes, name, mime } = await load(scope, String(address), { maxBytes: most(given), roots: roots ?? [] });
      const contentType = await detectMime({ buffer: bytes, headerMime: mime, filePath: name });
      return { buffer: Buffer.from(bytes), contentType, kind: kindOf(contentType), fileName: name };
    },
  };
}

function most(given: unknown): number {
  const wanted = isFields(given) ? numberIn(given, "maxBytes") : numberIn({ given }, "given");
  return Math.min(wanted ?? MOST_BYTES, MOST_BYTES);
}

const kindOf = (mime: string | undefined): string | undefined => (mime === undefined ? undefined : mediaKindOf(mime));

interface Loaded {
  readonly bytes: Uint8Array;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
}

interface Limits {
  readonly maxBytes: number;
  /** More folders with files that may be read. */
  readonly roots: readonly string[];
}

/** Rejects for a file that is too large, or in none of the folders whose files may be sent. */
async function load(scope: PluginScope, address: string, { maxBytes, roots }: Limits): Promise<Loaded> {
  if (/^https?:/i.test(address)) return safeFetch(address, { maxBytes, signal: scope.signal });
  const path = await realOf(address.startsWith("file:") ? fileURLToPath(address) : address);
  const { stateDir, workspace } = scope.ports;
  const allowed = [workspace(), join(stateDir, "media"), tmpdir(), ...roots];
  const folders = await Promise.all(allowed.map(realOf));
  if (!folders.some((folder) => isInside(path, folder)))
    throw new Error(`${basename(path)} is in no folder whose files a plugin may load by its path`);
  const bytes = await readFile(path);
  if (bytes.byteLength > maxBytes) throw new Error(`the file has ${bytes.byteLength} bytes; the limit is ${maxBytes}`);
  return { bytes, name: basename(path) };
}
