import { join } from "node:path";
import { discoverPlugins, type Discovered } from "../../plugins/found/discover.ts";
import { isFields } from "../../utils/fields.ts";
import { BUNDLED_IDS } from "../contributions/extensions.ts";
import type { StatePaths } from "../config/paths.ts";
import { valueAt } from "../config/problem.ts";
import { expandHome, type Env } from "../config/secrets.ts";

/** Finds the plugins of a state directory by the content of its config, which need not be valid. */
export const discoverIn =
  (paths: StatePaths, env: Env) =>
  (input: unknown): Promise<Discovered> =>
    discoverPlugins({
      loadPaths: textsAt(input, ["plugins", "load", "paths"]).map((path) => expandHome(path, env)),
      workspaceDirs: workspacesIn(input, paths, env).map((dir) => join(dir, ".openclaw", "extensions")),
      globalDir: paths.extensions,
      installedIds: new Set(),
      bundledIds: BUNDLED_IDS,
    });

function workspacesIn(input: unknown, paths: StatePaths, env: Env): readonly string[] {
  const agents = valueAt(input, ["agents", "list"]);
  const listed = Array.isArray(agents)
    ? agents.flatMap((agent: unknown) => (isFields(agent) ? [agent["workspace"]] : []))
    : [];
  const named = [valueAt(input, ["agents", "defaults", "workspace"]), ...listed].filter(
    (path): path is string => typeof path === "string" && path !== "",
  );
  return [...new Set([paths.workspace, ...named.map((path) => expandHome(path, env))])];
}

function textsAt(input: unknown, path: readonly string[]): readonly string[] {
  const list = valueAt(input, path);
  return Array.isArray(list) ? list.filter((item): item is string => typeof item === "string" && item !== "") : [];
}
