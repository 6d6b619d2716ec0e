import type { ExecBackend } from "../../types/run/backend.ts";
import type { UntrustedSource } from "../../types/run/untrusted.ts";
import type { ExecSettings } from "../../types/settings.ts";

/** Facts of a backend that decide whether a sandbox is the boundary for a model's programs. */
export type Boundary = Pick<ExecBackend, "isIsolated" | "writesWorkspace">;

/**
 * Whether a sandbox is the boundary: it lets nothing out, and the settings do not ask about everything. After untrusted
 * content it is no boundary where the command could change files that shape later turns.
 */
export const isContained = (
  boundary: Boundary,
  { ask }: Pick<ExecSettings, "ask">,
  untrusted: readonly UntrustedSource[],
): boolean =>
  boundary.isIsolated?.() === true && ask !== "always" && (untrusted.length === 0 || boundary.writesWorkspace !== true);
