import { join, relative } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import { DEFAULT_AGENT } from "../../types/ids.ts";
import { isInside } from "../../utils/real-path.ts";

const MOST_CHARS = 64;

/**
 * The id of an agent with this name: in lower case, with `-` for characters that ids cannot have. Throws USAGE when
 * nothing is left, and for `main`.
 */
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

/**
 * The workspace of a new agent when none is named. The path is written into the config, so that it stays when another
 * agent becomes the default.
 */
export const workspaceFor = (stateDir: string, id: string): string => join(stateDir, `workspace-${id}`);

/**
 * A path as the config has it: relative to the state directory when it lies there, so that the agents of a copied or
 * moved directory work in their own files.
 */
export const writtenPath = (path: string, stateDir: string): string =>
  path !== stateDir && isInside(path, stateDir) ? relative(stateDir, path) : path;
