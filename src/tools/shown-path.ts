import { relative, sep } from "node:path";
import { isInside } from "../utils/real-path.ts";

/** A path as it is shown to the model: relative inside the workspace, with slashes. */
export function shownPath(path: string, workspace: string): string {
  const shown = isInside(path, workspace) ? relative(workspace, path) || "." : path;
  return shown.replaceAll(sep, "/");
}
