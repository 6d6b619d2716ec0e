import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The files of a plugin that a test installs. */
export interface PluginFiles {
  readonly id: string;
  /** The module of the entry, `index.js`. */
  readonly code: string;
  /** More keys of `openclaw.plugin.json`. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** More keys of `package.json`. */
  readonly package?: Readonly<Record<string, unknown>>;
  /** More files at the top of its folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Writes a plugin into a folder of its own below `dir`. Returns that folder. */
export function writePlugin(dir: string, plugin: PluginFiles): string {
  const root = join(dir, plugin.id);
  mkdirSync(root, { recursive: true });
  const write = (name: string, value: unknown) => writeFileSync(join(root, name), JSON.stringify(value));
  write("openclaw.plugin.json", { id: plugin.id, configSchema: { type: "object" }, ...plugin.manifest });
  write("package.json", {
    name: plugin.id,
    version: "1.2.3",
    type: "module",
    openclaw: { extensions: ["./index.js"] },
    ...plugin.package,
  });
  writeFileSync(join(root, "index.js"), plugin.code);
  for (const [name, text] of Object.entries(plugin.files ?? {})) writeFileSync(join(root, name), text);
  return root;
}
