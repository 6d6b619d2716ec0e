import { z } from "zod";
import { about, secretField } from "../../utils/config.ts";

const word = z.string().min(1);

const integrity = word.regex(/^sha256-[A-Za-z0-9+/=]{20,}$/, "write it as `openclaw hooks enable` does");

const entry = z.looseObject({
  enabled: z.boolean().optional().meta(about("Enabled", "Whether the hook is called.")),
  env: z
    .record(z.string(), secretField)
    .prefault({})
    .meta(about("Variables", "Environment variables for the hook; those that are set already stay.")),
  integrity: integrity
    .optional()
    .meta(
      about(
        "Approved files",
        "Hash of the hook's files as they were approved. A hook in an agent's workspace is called only while its files have it.",
      ),
    ),
});

const handler = z.strictObject({
  event: word.meta(about("Event", "Name of an internal event, such as `command:new`.")),
  module: word.meta(about("Module", "Path of the code, from the default agent's workspace.")),
  export: word.default("default").meta(about("Export", "Name of the function.")),
  integrity: integrity.optional().meta(about("Approved file", "Hash of the file, if it is in an agent's workspace.")),
});

/** `hooks.internal` */
export const internalHooksConfig = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .meta(about("Enabled", "Calls hooks of the gateway itself. When unset, only if another key below names any.")),
  entries: z
    .record(z.string(), entry)
    .prefault({})
    .meta(about("Hooks", "Settings by the name of a hook; further keys are the hook's own options.")),
  load: z
    .strictObject({
      extraDirs: z.array(word).prefault([]).meta(about("More folders", "Folders that have folders of hooks.")),
    })
    .prefault({})
    .meta(about("Loading", "Where hooks are found.")),
  handlers: z
    .array(handler)
    .prefault([])
    .meta(about("Single handlers", "The older form: code without a folder and a `HOOK.md`.")),
  installs: z
    .record(z.string(), z.unknown())
    .optional()
    .meta(about("Installed packs", "Written by other versions; has no effect.")),
});

export type InternalHooksConfig = z.output<typeof internalHooksConfig>;
export type HookEntry = InternalHooksConfig["entries"][string];

/** Whether any hook may be called. */
export function areHooksOn({ enabled, entries, load, handlers }: InternalHooksConfig): boolean {
  if (enabled !== undefined) return enabled;
  return handlers.length > 0 || load.extraDirs.length > 0 || Object.values(entries).some((one) => one.enabled === true);
}
