import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { failedSend } from "../src/channels/connection/failed-send.ts";
import { pluginsConfig } from "../src/plugins/config.ts";
import type { PluginPorts } from "../src/plugins/ports.ts";
import { openMediaStore } from "../src/store/media.ts";
import { OPERATOR_KEY } from "../src/sessions/keys.ts";
import { keyNames } from "../src/sessions/shown/wire-keys.ts";
import { systemClock } from "../src/types/clock.ts";
import { DEFAULT_AGENT, mediaId, runId } from "../src/types/ids.ts";
import type { Log } from "../src/types/log.ts";
import type { ChatMessage } from "../src/types/run/model.ts";
import { answer, user } from "./conversation.ts";

interface TestScene {
  readonly id: string;
  /** Holds the state directory and the workspace. */
  readonly folder: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly channels?: Readonly<Record<string, object>>;
}

/** Ports of the gateway for one plugin in a test. */
export function testPorts({ id, folder, config, channels = {} }: TestScene): PluginPorts {
  const settings = { enabled: true, config, hooks: { allowConversationAccess: true } };
  const plugins = pluginsConfig.parse({ entries: { [id]: settings } });
  return {
    keys: keyNames(() => DEFAULT_AGENT),
    stateDir: join(folder, "state"),
    workspace: () => folder,
    shownConfig: () => structuredClone({ plugins, channels }),
    pluginsConfig: () => plugins,
    settingsOf: (plugin) => (plugin === id ? settings : {}),
    complete: async () => ({ text: "A completion.", provider: "test", model: "test" }),
    events: {
      enqueueSystemEvent: async () => undefined,
      say: () => undefined,
      requestHeartbeat: () => undefined,
      followRuns: () => undefined,
      followTranscripts: () => undefined,
    },
    media: mediaPortsIn(folder),
    sessions: {
      storePath: () => join(folder, "sessions.json"),
      load: () => ({}),
      filePath: (sessionId) => join(folder, `${sessionId}.jsonl`),
    },
    channels: channelPortsIn(folder),
    subagents: subagents(),
    clock: systemClock,
    log: silent,
  };
}

/** Subagents that answer at once with the same words. */
function subagents(): PluginPorts["subagents"] {
  const open = new Map<string, ChatMessage[]>();
  return {
    async run({ sessionKey, message }) {
      open.set(sessionKey, [...(open.get(sessionKey) ?? []), user(message), answer("An answer.")]);
      return { runId: runId(`run-${open.size}`) };
    },
    waitFor: async () => ({ status: "ok" }),
    owns: ({ sessionKey }) => open.has(sessionKey),
    messages: async (sessionKey, limit) => (open.get(sessionKey) ?? []).slice(-limit),
    remove: async ({ sessionKey }) => open.delete(sessionKey),
    runsOf: async function* none() {},
    stop: async () => undefined,
  };
}

const mediaPortsIn = (folder: string): PluginPorts["media"] => ({
  typeOf: (bytes, facts) => openMediaStore(folder).typeOf(bytes, facts),
  sizeOf: () => null,
});

/** Every chat belongs to the main conversation. */
const channelPortsIn = (folder: string): PluginPorts["channels"] => ({
  async saveMedia(bytes, { mime = "application/octet-stream", name = "file" }) {
    const path = join(folder, basename(name));
    await writeFile(path, bytes);
    return { id: mediaId(basename(name)), mime, path, bytes: bytes.byteLength };
  },
  routeOf: () => ({ agentId: DEFAULT_AGENT, sessionKey: OPERATOR_KEY, mainSessionKey: OPERATOR_KEY }),
  commandTarget: () => undefined,
  failedSend,
  // No agent answers.
  runsOf: async function* none() {},
  stopMessage: async () => undefined,
});

const nothing = () => undefined;
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => silent };
