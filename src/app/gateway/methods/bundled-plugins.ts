import { MethodError } from "../../../types/method.ts";
import { own } from "../../../utils/own.ts";
import { BUNDLED_IDS, WEB_CHAT } from "../../contributions/extensions.ts";
import type { Parts } from "../parts/parts.ts";
import { writeByClient } from "./write-by-client.ts";

/** A plugin that comes with the gateway, in the protocol's words. */
export interface BundledPlugin {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly origin: "bundled";
  readonly category: "channel" | "memory" | "tool";
  readonly installed: true;
  readonly enabled: boolean;
  readonly state: "enabled" | "disabled";
  readonly removable: false;
}

type Ports = Pick<Parts, "live" | "version">;

const MEMORY = "memory-core";

/** What is no channel, for people. */
const OTHERS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  "container-sandbox": {
    name: "Container sandbox",
    description: "Runs sandboxed commands in containers of Docker or Podman.",
  },
  "context-window": {
    name: "Context window",
    description: "A context engine that shows the model the newest messages of a conversation.",
  },
  "llm-task": { name: "LLM task", description: "A tool with which an agent asks a model for an answer in JSON." },
  [MEMORY]: { name: "Memory", description: "Searches the notes of an agent and its conversations." },
  [WEB_CHAT]: { name: "Web chat", description: "The chat of the page, and of clients of the gateway." },
};

/** The plugins that come with the gateway, by their names. */
export function bundledPlugins(ports: Ports): readonly BundledPlugin[] {
  return [...BUNDLED_IDS].map((id) => bundled(id, ports)).toSorted((a, b) => a.name.localeCompare(b.name));
}

/** The plugin with this id that comes with the gateway. */
export const bundledPlugin = (id: string, ports: Ports): BundledPlugin | undefined =>
  BUNDLED_IDS.has(id) ? bundled(id, ports) : undefined;

function bundled(id: string, { live, version }: Ports): BundledPlugin {
  const channel = live.contributions.channel(id);
  const enabled = isOn(id, live);
  const words = channel
    ? { name: channel.label, description: `The channel ${channel.label}.` }
    : (own(OTHERS, id) ?? { name: id, description: "" });
  return {
    id,
    ...words,
    version,
    origin: "bundled",
    category: channel || id === WEB_CHAT ? "channel" : id === MEMORY ? "memory" : "tool",
    installed: true,
    enabled,
    state: enabled ? "enabled" : "disabled",
    removable: false,
  };
}

function isOn(id: string, { config, contributions }: Parts["live"]): boolean {
  if (id === MEMORY) return config.plugins.slots.memory === MEMORY;
  if (!contributions.channel(id)) return true;
  const section = own(config.channels, id);
  return section !== undefined && section.enabled !== false;
}

/** Turns a plugin that comes with the gateway on or off in the config. Throws `MethodError` where that cannot be. */
export async function switchBundled(id: string, enabled: boolean, ports: Ports): Promise<void> {
  const { contributions } = ports.live;
  if (id === MEMORY) {
    await writeByClient([{ path: ["plugins", "slots", "memory"], value: enabled ? MEMORY : "none" }], ports);
    return;
  }
  if (!contributions.channel(id)) {
    if (enabled) return;
    throw new MethodError("INVALID_REQUEST", `${id} is a part of the gateway, and cannot be turned off`);
  }
  if (enabled && own(ports.live.config.channels, id) === undefined)
    throw new MethodError(
      "INVALID_REQUEST",
      `${id} has no account yet: openclaw channels add --channel ${id}, or the page Channels, sets one up`,
    );
  await writeByClient([{ path: ["channels", id, "enabled"], value: enabled }], ports);
}
