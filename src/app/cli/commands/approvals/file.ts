import { join } from "node:path";
import { EXEC_APPROVALS_FILE } from "../../../../tools/exec/rules/document.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { State } from "../../state.ts";

/** The approvals document of a state directory. */
export const approvalsPath = ({ paths }: State): string => join(paths.stateDir, EXEC_APPROVALS_FILE);

export const badApprovals = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message, fix: "See the format: openclaw approvals get --json (its key `file`)." });
