import { join } from "node:path";
import { CREDENTIALS_FILE } from "../../../providers/auth/credentials.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import type { GuestRules } from "../../../tools/host/access.ts";
import type { HostOptions } from "../../../tools/host/host.ts";
import { privateNotes } from "../../../tools/host/prompt-files.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { packageRoot } from "../../package-root.ts";
import type { Live } from "../../live.ts";
import { expandHome } from "../../../utils/env.ts";

type FilePlaces = Pick<HostOptions, "deniedPaths" | "readablePaths">;

/** Paths that guests may not change or not read, besides the paths that nobody may. */
type GuestPlaces = Pick<GuestRules, "prompts" | "notes">;

interface Places {
  /** Paths that file tools may not touch, and paths that they may read besides the workspace. */
  readonly ofAll: FilePlaces;
  /** Places of guests, by the workspace of their agent. */
  readonly ofGuests: Map<string, GuestPlaces>;
}

/** The places of files, made again when the config or the plugins' additions change. */
export function filePlaces(live: Live) {
  let known: { readonly of: Live["config"]; readonly revision: number; readonly places: Places } | undefined;
  const current = (): Places => {
    const { config, contributions } = live;
    if (known?.of === config && known.revision === contributions.revision) return known.places;
    const ofAll = { deniedPaths: deniedPaths(live), readablePaths: readablePaths(live) };
    const places = { ofAll, ofGuests: new Map() };
    known = { of: config, revision: contributions.revision, places };
    return places;
  };
  return {
    ofAll: () => current().ofAll,
    ofGuests({ workspace }: Pick<AgentSettings, "workspace">): GuestPlaces {
      const { ofAll, ofGuests } = current();
      const made = ofGuests.get(workspace) ?? guestPlaces(workspace, live, ofAll);
      ofGuests.set(workspace, made);
      return made;
    },
  };
}

function guestPlaces(own: string, live: Live, { readablePaths: roots = [] }: FilePlaces): GuestPlaces {
  const workspaces = [...new Set([own, ...live.agents.map(({ workspace }) => workspace)])];
  return {
    prompts: { workspaces, roots, isEverywhere: addsFilesOfFolders(live) },
    notes: privateNotes(workspaces),
  };
}

/** Whether the bundled hook that adds context files of subfolders is enabled. */
const addsFilesOfFolders = ({ config }: Live): boolean =>
  config.hooks.internal.entries["bootstrap-extra-files"]?.enabled === true;

/** Paths outside the workspace that the prompt refers to: received files, skills, docs. */
function readablePaths({ paths, config, contributions }: Live): readonly string[] {
  return [
    paths.media,
    paths.skills,
    join(packageRoot, "skills"),
    join(packageRoot, "docs"),
    ...config.skills.load.extraDirs,
    ...contributions.skillFolders,
  ];
}

/** Paths of the gateway's own files, which file tools never touch. */
export function deniedPaths({ paths, agents, config, loaded }: Live): readonly string[] {
  const { configPath, credentials, stateSub, sessionsDir, hooks, logs } = paths;
  const approvals = join(paths.stateDir, EXEC_APPROVALS_FILE);
  const keys = agents.flatMap(({ agentDir }) => (agentDir === undefined ? [] : [join(agentDir, CREDENTIALS_FILE)]));
  const own = [credentials, stateSub, sessionsDir, hooks, logs, join(paths.stateDir, "trash")];
  const configs = [configPath, ...loaded.files].flatMap((file) => [file, `${file}.bak`]);
  const secrets = Object.values(config.secrets.providers).flatMap((provider) =>
    provider.source === "file" ? [expandHome(provider.path, process.env)] : [],
  );
  return [approvals, ...configs, ...secrets, ...own, ...keys];
}
