import { z } from "zod";

/** Name of the file in the state directory. */
export const EXEC_APPROVALS_FILE = "exec-approvals.json";

const limits = {
  security: z.enum(["deny", "allowlist", "full"]).optional(),
  ask: z.enum(["off", "on-miss", "always"]).optional(),
  askFallback: z.enum(["deny", "allowlist", "full"]).optional(),
  // Read and kept. A skill's programs have no right of their own here, so the field has no effect.
  autoAllowSkills: z.boolean().optional(),
};

const row = z.lazy(() =>
  z.looseObject({
    id: z.string().optional(),
    /** A glob on the program's path, a bare name, or `=command:` with 16 hex digits of the text's SHA-256. */
    pattern: z.string().min(1),
    /** A regular expression for the arguments, joined by spaces. */
    argPattern: z.string().optional(),
    source: z.string().optional(),
    lastUsedAt: z.number().optional(),
    lastUsedCommand: z.string().optional(),
    lastResolvedPath: z.string().optional(),
    /** The whole command of a `=command:` row, and its directory. */
    commandText: z.string().optional(),
    cwd: z.string().optional(),
    /** SHA-256 of everything that an approval was bound to; rows that this gateway wrote have one. */
    binding: z.string().optional(),
    /** The owner (`channel:id`) who allowed the command, or `operator`. */
    givenBy: z.string().optional(),
  }),
);

const agent = z.lazy(() => z.looseObject({ ...limits, allowlist: z.array(row).default([]) }));

/** `exec-approvals.json` in the field's format. Unknown fields are kept. */
export const execApprovals = z.lazy(() =>
  z.looseObject({
    version: z.literal(1),
    defaults: z.looseObject(limits).default({}),
    agents: z.record(z.string(), agent).default({}),
  }),
);

export type ExecApprovals = z.output<typeof execApprovals>;
export type ExecRow = z.output<typeof row>;

/** Limits of a document or a session. An unset field limits nothing. */
export interface ExecLimits {
  readonly security?: "deny" | "allowlist" | "full" | undefined;
  readonly ask?: "off" | "on-miss" | "always" | undefined;
  readonly askFallback?: "deny" | "allowlist" | "full" | undefined;
}
