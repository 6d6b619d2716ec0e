import type { ExecBackend } from "../../types/run/backend.ts";
import type { UntrustedSource } from "../../types/run/untrusted.ts";
import type { ExecSettings } from "../../types/settings.ts";

/** What decides whether a sandbox is the boundary for what a model gives to its programs. */
export type Boundary = Pick<ExecBackend, "isIsolated" | "writesWorkspace">;

/**
 * A sandbox that lets nothing out is the boundary; a person is then asked only where the settings ask about everything. Once others may
 * have written what the model wants, it is none where the command could change files that shape later turns.
 */
export const isContained = (
  boundary: Boundary,
  { ask }: Pick<ExecSettings, "ask">,
  untrusted: readonly UntrustedSource[],
): boolean =>
  boundary.isIsolated?.() === true && ask !== "always" && (untrusted.length === 0 || boundary.writesWorkspace !== true);
