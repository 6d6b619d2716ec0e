import { isAbsolute, join, relative } from "node:path";
import type { BootstrapFile } from "../types/hook/events.ts";
import type { HookRunner } from "../types/hook/hooks.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import { isFields } from "../utils/fields.ts";
import { isInside } from "../utils/real-path.ts";
import { TEXT_LIMITS, type BootstrapLimits } from "./bootstrap.ts";
import type { ContextFile } from "./system-context.ts";
import { truncateMiddle } from "./truncate-middle.ts";

/** The files of one prompt. */
export interface HookedFiles {
  readonly files: readonly ContextFile[];
  readonly workspace: string;
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  readonly limits: BootstrapLimits;
}

/** Files that hooks may leave in one prompt. */
const MOST_FILES = 60;

/**
 * The context files as hooks leave them: hooks may add, change and remove files. The limits of the files hold for the
 * result.
 */
export async function hookedFiles(
  { files, workspace, agentId, sessionKey, limits }: HookedFiles,
  hooks: HookRunner | undefined,
): Promise<readonly ContextFile[]> {
  if (hooks?.has("agent:bootstrap") !== true) return files;
  const given = files.map(({ path, content }) => ({
    name: path,
    path: join(workspace, path),
    content,
    missing: false,
  }));
  let left: readonly BootstrapFile[] | undefined;
  const event = { sessionKey, agentId, workspaceDir: workspace, bootstrapFiles: given };
  await hooks.chain(
    { name: "agent:bootstrap", event, context: { sessionKey, agentId, workspaceDir: workspace } },
    (before, answer) => {
      const read = isFields(answer) ? readFiles(answer["bootstrapFiles"], workspace) : undefined;
      if (!read) return before;
      left = read;
      return { ...before, bootstrapFiles: read };
    },
  );
  return left ? withinLimits(left, { files, workspace, limits }) : files;
}

/** Files in a hook's answer; undefined for a value that is no list. */
function readFiles(given: unknown, workspace: string): readonly BootstrapFile[] | undefined {
  if (!Array.isArray(given)) return undefined;
  return given.slice(0, MOST_FILES).flatMap((file: unknown) => {
    if (!isFields(file) || file["missing"] === true) return [];
    const { content, name, path } = file;
    const place = typeof path === "string" && path !== "" ? path : name;
    if (typeof content !== "string" || typeof place !== "string" || place === "") return [];
    const whole = isAbsolute(place) ? place : join(workspace, place);
    return [{ name: typeof name === "string" ? name : place, path: whole, content, missing: false }];
  });
}

function withinLimits(
  read: readonly BootstrapFile[],
  { files, workspace, limits }: Pick<HookedFiles, "files" | "workspace" | "limits">,
): readonly ContextFile[] {
  const { maxChars = TEXT_LIMITS.maxChars, totalMaxChars = TEXT_LIMITS.totalMaxChars } = limits;
  const known = new Map(files.map((file) => [file.path, file]));
  let left = totalMaxChars;
  return read.flatMap(({ path: whole, content: text }) => {
    if (text.trim() === "") return [];
    const path = lineOf(isInside(whole, workspace) ? relative(workspace, whole) : whole);
    const content = truncateMiddle(text, Math.min(maxChars, left));
    left = Math.max(0, left - content.length);
    const before = known.get(path);
    if (before?.content === content) return [before];
    return [{ path, content, ...(content !== text && { wholeChars: text.length }) }];
  });
}

/** A name must not begin a line of its own. */
const lineOf = (path: string): string => path.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
