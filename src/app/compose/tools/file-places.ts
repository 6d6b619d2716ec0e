import { join } from "node:path";
import { CREDENTIALS_FILE } from "../../../providers/auth/credentials.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import type { HostOptions } from "../../../tools/host/host.ts";
import { packageRoot } from "../../package-root.ts";
import type { Live } from "../live.ts";

type FilePlaces = Pick<HostOptions, "deniedPaths" | "readablePaths">;

/** Paths that file tools may not touch and may read besides the workspace, made again when the config or what plugins add changes. */
export function filePlaces(live: Live) {
  let known: { readonly of: Live["config"]; readonly revision: number; readonly places: FilePlaces } | undefined;
  return (): FilePlaces => {
    const { config, contributions } = live;
    if (known?.of === config && known.revision === contributions.revision) return known.places;
    const places = { deniedPaths: deniedPaths(live), readablePaths: readablePaths(live) };
    known = { of: config, revision: contributions.revision, places };
    return places;
  };
}

/** Paths outside the workspace that the prompt refers to: received files, skills, docs. */
export function readablePaths({ paths, config, contributions }: Live): readonly string[] {
  return [
    paths.media,
    paths.skills,
    join(packageRoot, "skills"),
    join(packageRoot, "docs"),
    ...config.skills.load.extraDirs,
    ...contributions.skillFolders,
  ];
}

/** File tools never touch the gateway's own files. */
export function deniedPaths({ paths, agents }: Live): readonly string[] {
  const { configPath, credentials, stateSub, sessionsDir, hooks, logs } = paths;
  const approvals = join(paths.stateDir, EXEC_APPROVALS_FILE);
  const keys = agents.flatMap(({ agentDir }) => (agentDir === undefined ? [] : [join(agentDir, CREDENTIALS_FILE)]));
  const own = [credentials, stateSub, sessionsDir, hooks, logs, join(paths.stateDir, "trash")];
  return [approvals, configPath, `${configPath}.bak`, ...own, ...keys];
}
