import { lstat } from "node:fs/promises";
import { homedir } from "node:os";
import { holdsFile, hiddenFromGuests, isHiddenElsewhere } from "../../tools/host/guest-files.ts";
import { privateNotes } from "../../tools/host/prompt-files.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { ContextPorts } from "../run/plan.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { RunDeps, RunRequest } from "../request.ts";

/** Longest side in pixels when the config says nothing. */
const DEFAULT_SIDE = 1200;

/** Longest side in pixels of an image that a model is shown. */
export const maxSideIn = ({ media }: Pick<AgentSettings, "media">): number => media?.imageMaxSide ?? DEFAULT_SIDE;

/** Shows this run's model the images that turns mention: images of the workspace and of the received files. */
export function imagesFor({ facts, settings }: RunRequest, deps: RunDeps): ContextPorts["withImages"] {
  const { images, closedPaths } = deps;
  if (!images) return async (messages) => messages;
  const { workspace } = settings;
  const isGuest = facts.principal !== undefined && !hasOwnerRights(facts.principal);
  const closed = [...closedPaths, ...(isGuest ? privateNotes([workspace]) : [])];
  const isHidden = async (path: string): Promise<boolean> => isGuest && isHiddenFromGuest(path, workspace, closed);
  const places = { home: homedir(), workspace, media: images.mediaDir, closed, isHidden };
  const maxSide = maxSideIn(settings);
  return (messages, policy) => images.show(messages, { policy, maxSide, places });
}

/** Whether a file is hidden from a guest by its names, or as a second name of another file. */
async function isHiddenFromGuest(path: string, workspace: string, closed: readonly string[]): Promise<boolean> {
  if ((await hiddenFromGuests(path, [workspace])) !== undefined) return true;
  const facts = await lstat(path);
  if (facts.nlink === 1) return false;
  for (const one of closed) if (await holdsFile(one, facts)) return true;
  return isHiddenElsewhere(facts, [workspace]);
}
