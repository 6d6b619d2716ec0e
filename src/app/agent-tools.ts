import { join } from "node:path";
import { createTools } from "../tools/tools.ts";
import type { ApprovalRules } from "../types/journal.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { Tool } from "../types/tool.ts";
import type { Live } from "./live.ts";
import { packageRoot } from "./package-root.ts";

/** The tools of an agent's run; `extra` are those of the run itself. */
export function toolsFor(
  settings: AgentSettings,
  live: Live,
  more: { readonly rules: ApprovalRules; readonly extra?: readonly Tool[] },
): readonly Tool[] {
  return createTools({
    ...more,
    settings,
    deniedPaths: deniedPaths(live),
    readablePaths: readablePaths(live),
  });
}

/** Outside the workspace, what the model is told to look at: received files and skills. */
function readablePaths({ paths, config }: Live): readonly string[] {
  return [
    paths.media,
    paths.skills,
    join(packageRoot, "skills"),
    join(packageRoot, "docs"),
    ...config.skills.load.extraDirs,
  ];
}

/** File tools never touch what the gateway itself lives on. */
export function deniedPaths({ paths }: Live): readonly string[] {
  const { configPath, credentials, stateSub, sessionsDir, logs } = paths;
  return [configPath, `${configPath}.bak`, credentials, stateSub, sessionsDir, logs];
}
