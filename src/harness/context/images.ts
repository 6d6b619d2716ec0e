import { homedir } from "node:os";
import { privateNotes } from "../../tools/host/prompt-files.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { ContextPorts } from "../run/plan.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { RunDeps, RunRequest } from "../request.ts";

/** Longest side in pixels when the config says nothing. */
const DEFAULT_SIDE = 1200;

/** Longest side in pixels of an image that a model is shown. */
export const maxSideIn = ({ media }: Pick<AgentSettings, "media">): number => media?.imageMaxSide ?? DEFAULT_SIDE;

/** Shows this run's model the images that turns mention: those of the workspace and of the received files. */
export function imagesFor({ facts, settings }: RunRequest, deps: RunDeps): ContextPorts["withImages"] {
  const { images, mediaDir, closedPaths = [] } = deps;
  if (!images || mediaDir === undefined) return async (messages) => messages;
  const { workspace } = settings;
  const isGuest = facts.principal !== undefined && !hasOwnerRights(facts.principal);
  const closed = [...closedPaths, ...(isGuest ? privateNotes([workspace]) : [])];
  const places = { home: homedir(), workspace, media: mediaDir, closed };
  const maxSide = maxSideIn(settings);
  return (messages, policy) => images.show(messages, { policy, maxSide, places });
}
