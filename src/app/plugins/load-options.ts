import type { Contributions } from "../../plugins/contributions.ts";
import type { LoadOptions } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import type { Env } from "../config/secrets.ts";
import { contributedSchemas } from "../contributions/extensions.ts";
import { discoverIn } from "./places.ts";

/** How a process reads its config: with the schemas of what is loaded, and the plugins that can be found. */
export async function loadOptionsFor(
  contributions: Contributions,
  paths: StatePaths,
  env: Env = process.env,
): Promise<LoadOptions> {
  return {
    path: paths.configPath,
    env,
    discover: discoverIn(paths, env),
    ...(await contributedSchemas(contributions)),
  };
}
