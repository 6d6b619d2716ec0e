import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../../utils/missing.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import type { StatePaths } from "./paths.ts";
import type { Config } from "./schema/schema.ts";

/** The folder of `gateway.controlUi.root`, absolute; undefined when the key is not set. */
export function controlUiRoot(
  config: Config,
  { configPath }: Pick<StatePaths, "configPath">,
  env: Env,
): string | undefined {
  const { root } = config.gateway.controlUi;
  return root === undefined ? undefined : resolve(dirname(configPath), expandHome(root, env));
}

interface ControlUiGap {
  readonly message: string;
  readonly fix: string;
  /** True for a folder that is never served, whatever is in it. */
  readonly isClosed?: true;
}

/** Why a folder has no Control UI to serve; undefined when it has one. */
export async function controlUiGap(
  root: string,
  { stateDir, configPath }: Pick<StatePaths, "stateDir" | "configPath">,
): Promise<ControlUiGap | undefined> {
  const real = await realOf(root);
  const own = await Promise.all([stateDir, dirname(configPath)].map(realOf));
  if (own.some((folder) => isInside(folder, real)))
    return {
      message: `gateway.controlUi.root is ${root}, which has the gateway's own files in it: no page is served.`,
      fix: "Name a folder that has nothing but the page, such as one below the state directory.",
      isClosed: true,
    };
  const index = await stat(join(root, "index.html")).catch((error: unknown) => errorCode(error) ?? "unknown");
  if (typeof index !== "string" && index.isFile()) return undefined;
  const why = index === "EACCES" ? "cannot be read" : "has no index.html";
  return {
    message: `gateway.controlUi.root is ${root}, which ${why}: no page is served.`,
    fix: "Name the folder of a built page (dist/control-ui of the package openclaw), or take the key out to serve the gateway's own page.",
  };
}

/** The address of the page. */
export const dashboardAddress = (host: string, port: number, config: Config): string =>
  `http://${host}:${port}${config.gateway.controlUi.basePath}/`;
