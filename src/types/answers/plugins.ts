import { z } from "zod";
import type { Answer } from "../method.ts";

/** A plugin in the protocol's words. */
export const pluginRow = z.looseObject({
  id: z.string(),
  name: z.string(),
  version: z.string().optional(),
  packageName: z.string().optional(),
  description: z.string().optional(),
  kind: z.array(z.string()).optional(),
  /** Kind of the place where it was found. */
  origin: z.string(),
  category: z.string().optional(),
  removable: z.boolean(),
  installed: z.boolean(),
  enabled: z.boolean(),
  state: z.enum(["enabled", "disabled", "not-installed", "error"]),
  error: z.string().optional(),
});

const names = z.array(z.string()).optional();
const block = z.looseObject({ what: z.string(), ms: z.number(), at: z.number().optional() });

/** Facts about a plugin that a process loaded or could not load; see `PluginRecord`. */
const loadedPlugin = z.looseObject({
  id: z.string(),
  state: z.string(),
  root: z.string().optional(),
  /** Kind of the place where it was found. */
  origin: z.string().optional(),
  code: z.string().optional(),
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
export type LoadedPlugin = Answer<z.output<typeof loadedPlugin>>;

/** A part that the config names, and that a plugin should contribute and does not, or not so that it works. */
const fault = z.looseObject({
  kind: z.enum(["engine", "memory", "channel", "provider", "tool"]),
  /** Name of the part in the config. */
  name: z.string(),
  /** The plugin that should have the part, as far as one is known. */
  plugin: z.string().optional(),
  /** The fault as a sentence, the same as in a run. */
  message: z.string(),
  fix: z.string(),
});
export type Fault = Answer<z.output<typeof fault>>;

/** The answers of `plugins.*`. A gateway of an older version checks nothing. */
export const pluginAnswers = {
  list: z.looseObject({
    plugins: z.array(pluginRow),
    diagnostics: z.array(z.looseObject({ level: z.string(), pluginId: z.string(), message: z.string() })),
    mutationAllowed: z.boolean(),
  }),
  loaded: z.looseObject({ plugins: z.array(loadedPlugin), faults: z.array(fault).default([]) }),
  setEnabled: z.looseObject({ ok: z.literal(true), plugin: pluginRow, restartRequired: z.boolean() }),
  retry: z.looseObject({ plugin: loadedPlugin }),
  judgeInstall: z.looseObject({ blocked: z.string().optional() }),
};
