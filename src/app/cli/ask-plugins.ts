import { z } from "zod";
import type { LoadedPlugin } from "../plugins/loaded-problems.ts";
import { hasGateway } from "./address.ts";
import { callOnce } from "./call-gateway.ts";
import type { Io } from "./io.ts";
import { readState, type State } from "./state.ts";
import { cleanText } from "./terminal-text.ts";

const names = z.array(z.string()).optional();

const block = z.looseObject({ what: z.string(), ms: z.number(), at: z.number().optional() });

const plugin = z.looseObject({
  id: z.string(),
  state: z.string(),
  root: z.string().optional(),
  why: z.string().optional(),
  fix: z.string().optional(),
  version: z.string().optional(),
  added: z.record(z.string(), z.array(z.string())).optional(),
  loadMs: z.number().optional(),
  codeSince: z.number().optional(),
  missing: names,
  notServed: names,
  neverCalled: names,
  refusedParts: names,
  refusedHooks: names,
  cost: z
    .looseObject({
      calls: z.number(),
      busyMs: z.number(),
      blocked: z.number(),
      heapMb: z.number().optional(),
      failed: z.number(),
      longest: block.optional(),
      latest: block.optional(),
      lastError: z.string().optional(),
    })
    .optional(),
});

/** The answer of `plugins.list`. */
export const pluginsShape = z.looseObject({ plugins: z.array(plugin) });

const retried = z.looseObject({ plugin });

/** Has the running gateway load a plugin that it has not loaded, and gives a sentence about what came of it. Throws as `askPlugins`. */
export async function loadNow(io: Io, state: State, pluginId: string): Promise<string> {
  const { plugin: found } = await callOnce(io, state, {
    method: "plugins.retry",
    params: { pluginId },
    shape: retried,
  });
  if (found.state === "loaded") return `The running gateway has loaded ${pluginId}.`;
  const { why = "it does not say why", fix = "" } = found;
  return cleanText(`The running gateway has not loaded ${pluginId}: ${why}. ${fix}`).trim();
}

/** The plugins of the running gateway; undefined when none runs. Throws what `connectGateway` throws. */
export async function askPlugins(io: Io): Promise<readonly LoadedPlugin[] | undefined> {
  const state = await readState(io);
  if (!hasGateway(io, state)) return undefined;
  const { plugins } = await callOnce(io, state, { method: "plugins.list", shape: pluginsShape }, { isQuiet: true });
  return plugins;
}
