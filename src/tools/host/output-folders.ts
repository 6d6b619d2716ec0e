import { createHash } from "node:crypto";
import { join } from "node:path";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** Most workspaces and sessions whose folders are kept in memory: each run asks for them several times. */
const MOST_KNOWN = 200;
const roots = new BoundedMap<string, string>(MOST_KNOWN);
const folders = new BoundedMap<string, string>(MOST_KNOWN);

/** The folder for results of a workspace's sessions that are too long for a model. */
export const outputRoot = (workspace: string): string =>
  roots.of(workspace, () => join(workspace, ".openclaw", "output"));

/** The folder of one session's results, which other sessions do not read. */
export const outputFolder = (workspace: string, key: string): string =>
  folders.of(`${workspace}\0${key}`, () =>
    join(outputRoot(workspace), createHash("sha256").update(key).digest("hex").slice(0, 24)),
  );
