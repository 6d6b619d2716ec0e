import { own } from "../../utils/own.ts";
import { BUNDLED_IDS, WEB_CHAT } from "../contributions/extensions.ts";
import type { Live } from "../live.ts";

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

interface Ports {
  readonly live: Live;
  /** The gateway's. */
  readonly version: string;
}

interface Edit {
  readonly path: string[];
  readonly value: unknown;
}

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

const CATEGORIES: Readonly<Record<string, BundledPlugin["category"]>> = { [MEMORY]: "memory", [WEB_CHAT]: "channel" };

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
    category: channel ? "channel" : (CATEGORIES[id] ?? "tool"),
    installed: true,
    enabled,
    state: enabled ? "enabled" : "disabled",
    removable: false,
  };
}

function isOn(id: string, { config, contributions }: Live): boolean {
  if (id === MEMORY) return config.plugins.slots.memory === MEMORY;
  if (!contributions.channel(id)) return true;
  const section = own(config.channels, id);
  return section !== undefined && section.enabled !== false;
}

/** The edits of the config that turn a plugin that comes with the gateway on or off; a text says why it cannot be. */
export function bundledSwitch(id: string, enabled: boolean, { config, contributions }: Live): readonly Edit[] | string {
  if (id === MEMORY) return [{ path: ["plugins", "slots", "memory"], value: enabled ? MEMORY : "none" }];
  if (!contributions.channel(id)) return enabled ? [] : `${id} is a part of the gateway, and cannot be turned off`;
  if (enabled && own(config.channels, id) === undefined)
    return `${id} has no account yet: openclaw channels add --channel ${id}, or the page Channels, sets one up`;
  return [{ path: ["channels", id, "enabled"], value: enabled }];
}
