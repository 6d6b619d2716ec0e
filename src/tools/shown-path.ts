import { relative, sep } from "node:path";
import { isInside } from "../utils/real-path.ts";

/** The path in the form for the model: relative inside the workspace, with slashes. */
export function shownPath(path: string, workspace: string): string {
  const shown = isInside(path, workspace) ? relative(workspace, path) || "." : path;
  return shown.replaceAll(sep, "/");
}

/** Control characters, line ends, and characters that change the direction of the following text. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const DECEPTIVE = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/**
 * A name in a list of names, one a line. A name that could be taken for several lines, or for another name, is written
 * as a JSON string, with escapes.
 */
export function listedName(name: string): string {
  if (name.search(DECEPTIVE) < 0) return name;
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(name).replaceAll(DECEPTIVE, escaped);
}
