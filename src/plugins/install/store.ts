import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findNpm } from "../../utils/npm.ts";
import type { Programs } from "./programs.ts";

/** Places where plugins are installed, and programs that fetch plugins. */
export interface PluginStore {
  /** `extensions/` of the state directory: one folder for each plugin, by its id. */
  readonly extensions: string;
  /** `plugins/installs.json` of the state directory. */
  readonly records: string;
  /** The folder with the gateway's `package.json`: what `openclaw/plugin-sdk` of a plugin leads to. */
  readonly packageRoot: string;
  readonly programs: Programs;
}

interface Paths {
  readonly stateDir: string;
  readonly extensions: string;
}

/** The store of a state directory, with the npm and git of this machine. */
export const pluginStore = (paths: Paths, packageRoot: string, env: Programs["env"]): PluginStore => ({
  extensions: paths.extensions,
  records: recordsFile(paths),
  packageRoot,
  programs: { npm: findNpm(), git: ["git"], env },
});

export const recordsFile = ({ stateDir }: Pick<Paths, "stateDir">): string =>
  join(stateDir, "plugins", "installs.json");

export const DRAFT = ".draft-";

/** Makes the folder in which one installation is prepared, on the file system of the plugins. */
export async function makeDraft({ extensions }: Pick<PluginStore, "extensions">): Promise<string> {
  await mkdir(extensions, { recursive: true, mode: 0o700 });
  const draft = join(extensions, `${DRAFT}${randomUUID()}`);
  await mkdir(draft, { mode: 0o700 });
  return draft;
}
