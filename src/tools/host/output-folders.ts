import { createHash } from "node:crypto";
import { join } from "node:path";

/** Where the results of a workspace's sessions are kept that are too long for a model. */
export const outputRoot = (workspace: string): string => join(workspace, ".openclaw", "output");

/** The folder of one session's results: other sessions do not read it. */
export const outputFolder = (workspace: string, key: string): string =>
  join(outputRoot(workspace), createHash("sha256").update(key).digest("hex").slice(0, 24));
