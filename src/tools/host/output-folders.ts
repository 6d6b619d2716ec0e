import { createHash } from "node:crypto";
import { join } from "node:path";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** Where the results of a workspace's sessions are kept that are too long for a model. */
export const outputRoot = (workspace: string): string => join(workspace, ".openclaw", "output");

/** Sessions whose folders' names are kept: each run asks for them several times. */
const MOST_KNOWN = 200;
const names = new BoundedMap<string, string>(MOST_KNOWN);

/** The folder of one session's results: other sessions do not read it. */
export const outputFolder = (workspace: string, key: string): string => join(outputRoot(workspace), nameOf(key));

function nameOf(key: string): string {
  const known = names.get(key) ?? createHash("sha256").update(key).digest("hex").slice(0, 24);
  names.set(key, known);
  return known;
}
