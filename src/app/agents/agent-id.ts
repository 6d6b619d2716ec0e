import { join, relative } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { isInside } from "../../utils/real-path.ts";

const MOST_CHARS = 64;

/** The id of an agent that people call so: in lower case, with `-` for what ids cannot have. Throws USAGE when nothing is left, and for `main`. */
export function agentIdFrom(name: string): string {
  const id = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+/, "")
    .slice(0, MOST_CHARS)
    .replace(/[-_]+$/, "");
  if (id === "")
    throw new OpenClawError("USAGE", {
      message: `No id can be made of the name "${name}".`,
      fix: "Give a name with letters or digits of English.",
    });
  if (id === DEFAULT_AGENT)
    throw new OpenClawError("USAGE", {
      message: "The name main belongs to the agent that is always there.",
      fix: "Give the new agent another name.",
    });
  return id;
}

/** Where an agent works unless the config says otherwise. It is written into the config, so that it stays when another agent becomes the default. */
export const workspaceFor = (stateDir: string, id: string): string => join(stateDir, `workspace-${id}`);

/**
 * A path as it is written into the config: from the state directory where it lies in it, so that the agents of a copied or moved
 * directory work in their own files.
 */
export const writtenPath = (path: string, stateDir: string): string =>
  path !== stateDir && isInside(path, stateDir) ? relative(stateDir, path) : path;
