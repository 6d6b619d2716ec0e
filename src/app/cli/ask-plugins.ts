import { defined } from "../../utils/defined.ts";
import { pluginAnswers } from "../../types/answers/plugins.ts";
import type { PluginView } from "../plugins/loaded-problems.ts";
import { hasGateway, isElsewhere } from "./address.ts";
import { callOnce, withGateway } from "./call-gateway.ts";
import type { GatewayClient } from "./client.ts";
import type { Io } from "./io.ts";
import { readState, type State } from "./state.ts";
import { isFollowed } from "./until-followed.ts";
import { withoutTerminalControls } from "./terminal-text.ts";

/** Has the running gateway load a plugin that it has not loaded, and gives a sentence about what came of it. Throws as `askPlugins`. */
export async function loadNow(io: Io, state: State, pluginId: string): Promise<string> {
  const { plugin: found } = await callOnce(io, state, {
    method: "plugins.retry",
    params: { pluginId },
    shape: pluginAnswers.retry,
  });
  if (found.state === "loaded") return `The running gateway has loaded ${pluginId}.`;
  const { why = "it does not say why", fix = "" } = found;
  return withoutTerminalControls(`The running gateway has not loaded ${pluginId}: ${why}. ${fix}`).trim();
}

/** Milliseconds for an answer, beyond what the gateway may wait for an engine. */
const ANSWER_MS = 30_000;

/** The plugins of the running gateway, and what of them does not work; undefined when none runs. Throws what `connectGateway` throws. */
export async function askPlugins(io: Io): Promise<Omit<PluginView, "isGateway"> | undefined> {
  const state = await readState(io);
  if (!hasGateway(io, state)) return undefined;
  const ms = ANSWER_MS + state.config.plugins.contextEngineTimeoutSeconds.bootstrap * 1000;
  const ask = (client: GatewayClient) => client.call("plugins.loaded", { check: true }, pluginAnswers.loaded, ms);
  const { plugins: records, faults } = await withGateway(io, state, ask, { isQuiet: true });
  return { records, faults };
}

/** Milliseconds in which the gateway tries and loads a plugin. */
const LOADING_MS = 45_000;

/** The state that a plugin has in the running gateway after the config turned it on. */
export interface TakenUp {
  /** A sentence. */
  readonly says: string;
  /** Why it does not work there, as half a sentence; undefined when it does, or when that is not known yet. */
  readonly why?: string;
  readonly fix?: string;
}

/** Waits until the running gateway has followed the config, and asks what became of a plugin. Undefined when none runs. Never rejects. */
export async function takenUp(io: Io, state: State, pluginId: string): Promise<TakenUp | undefined> {
  if (state.owner === undefined) return undefined;
  if (isElsewhere(io, state)) return { says: FOLLOWS };
  try {
    const told = (await isFollowed(io, state, LOADING_MS)) ? await askPlugins(io) : undefined;
    return (told && madeOf(told, pluginId)) ?? { says: FOLLOWS };
  } catch {
    // The config is written, and the gateway follows it in any case.
    return { says: FOLLOWS };
  }
}

/** Undefined for a plugin that the gateway does not want to load. */
function madeOf({ records, faults }: Omit<PluginView, "isGateway">, id: string): TakenUp | undefined {
  const record = records.find((one) => one.id === id);
  if (!record || record.state === "off") return undefined;
  const fault = faults.find(({ kind, plugin: owner }) => owner === id && (kind === "engine" || kind === "memory"));
  const why = record.state === "loaded" ? fault?.message.replace(/\.$/, "") : (record.why ?? "it does not say why");
  if (why === undefined) return { says: `The running gateway has loaded ${id}.` };
  const fix = record.state === "loaded" ? fault?.fix : record.fix;
  const says = withoutTerminalControls(`The running gateway cannot use ${id}: ${why}. ${fix ?? ""}`).trim();
  return { says, why, ...defined({ fix }) };
}

/** Printed when a gateway runs: it follows the config, and keeps code that it has loaded. */
export const FOLLOWS = "The running gateway follows this change by itself.";
