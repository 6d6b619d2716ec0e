import { z } from "zod";
import type { Io } from "../../io.ts";
import { showDuration, table } from "../../table.ts";
import { cleanText } from "../../terminal-text.ts";

/** The part of the `usage.status` answer about providers. */
export const limitsShape = z.looseObject({
  providers: z.array(
    z.looseObject({
      provider: z.string(),
      profileId: z.string().optional(),
      windows: z.array(z.looseObject({ label: z.string(), usedPercent: z.number(), resetAt: z.number().optional() })),
    }),
  ),
});

export type LimitsShown = z.infer<typeof limitsShape>;

/** A line for each limit of a key, with what is left of it. */
export function limitsText(io: Io, { providers }: LimitsShown): string {
  const rows = providers.flatMap(({ provider, profileId, windows }) =>
    windows.map(({ label, usedPercent, resetAt }) => {
      const left = `${Math.round(100 - usedPercent)} % left`;
      const reset = resetAt === undefined ? "" : `in ${showDuration(Math.max(0, resetAt - Date.now()))}`;
      return [cleanText(profileId ?? provider), cleanText(label), left, reset];
    }),
  );
  if (rows.length === 0) return "No provider has told its limits since the gateway started.\n";
  return table(io, ["KEY", "LIMIT", "LEFT", "FREE AGAIN"], rows);
}
