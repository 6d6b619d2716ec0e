import { z } from "zod";
import { keyField } from "../key-field.ts";
import type { Answer } from "../method.ts";

const action = z.looseObject({
  /** `archive-age`, `archive-cap`, `prune-stale`, `cap-overflow`, `prune-missing`, `retire-dm-scope`, `disk-budget`, `remove-transcript` or `keep`. */
  action: z.string(),
  /** The session. */
  key: keyField().optional(),
  /** The old transcript, by its name in the folder of sessions. */
  file: z.string().optional(),
  ageMs: z.number(),
  bytes: z.number(),
  /** Why a session that is due stays. */
  why: z.string().optional(),
});
export type MaintenanceAction = Answer<z.output<typeof action>>;

/** The answer of `sessions.cleanup`: what was done, or with `dryRun` what would be. */
export const maintenanceAnswer = z.looseObject({
  agentId: z.string().optional(),
  /** Path of `sessions.json`. */
  storePath: z.string(),
  mode: z.enum(["warn", "enforce"]),
  dryRun: z.boolean(),
  beforeCount: z.number(),
  afterCount: z.number(),
  /** Deleted because their transcript is missing. */
  missing: z.number(),
  dmScopeRetired: z.number(),
  /** Probes of models leave no sessions here. */
  modelRunPruned: z.number(),
  /** Put into the archive because of their age, and because there are too many. */
  archived: z.number(),
  capArchived: z.number(),
  /** Sessions of jobs, webhooks and subagents that are deleted for the same reasons. */
  pruned: z.number(),
  capped: z.number(),
  /** The old transcripts that `/new` and deleted sessions leave. */
  unreferencedArtifacts: z.looseObject({
    scannedFiles: z.number(),
    removedFiles: z.number(),
    freedBytes: z.number(),
    olderThanMs: z.number().optional(),
  }),
  /** Null without a limit. */
  diskBudget: z
    .looseObject({
      totalBytesBefore: z.number(),
      totalBytesAfter: z.number(),
      removedFiles: z.number(),
      removedEntries: z.number(),
      freedBytes: z.number(),
      maxBytes: z.number(),
      highWaterBytes: z.number(),
      overBudget: z.boolean(),
    })
    .nullable(),
  wouldMutate: z.boolean(),
  applied: z.boolean().optional(),
  /** Sessions that are left. */
  appliedCount: z.number().optional(),
  /** Changes that were not made, because the session was used meanwhile or the disk refused it. */
  skipped: z.number().optional(),
  /** The first of them; `moreActions` is how many follow. */
  actions: z.array(action),
  moreActions: z.number(),
});
export type MaintenanceReport = Answer<z.output<typeof maintenanceAnswer>>;
