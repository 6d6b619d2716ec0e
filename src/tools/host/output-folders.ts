import { createHash } from "node:crypto";
import { join } from "node:path";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** Workspaces and sessions whose folders are kept: each run asks for them several times. */
const MOST_KNOWN = 200;
const roots = new BoundedMap<string, string>(MOST_KNOWN);
const folders = new BoundedMap<string, string>(MOST_KNOWN);

/** Where the results of a workspace's sessions are kept that are too long for a model. */
export const outputRoot = (workspace: string): string =>
  roots.of(workspace, () => join(workspace, ".openclaw", "output"));

/** The folder of one session's results: other sessions do not read it. */
export const outputFolder = (workspace: string, key: string): string =>
  folders.of(`${workspace}\0${key}`, () =>
    join(outputRoot(workspace), createHash("sha256").update(key).digest("hex").slice(0, 24)),
  );
