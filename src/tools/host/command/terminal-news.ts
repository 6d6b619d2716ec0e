import { z } from "zod";

/** The command for the process of a terminal. */
export const terminalLaunch = z.object({
  argv: z.tuple([z.string()], z.string()),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  columns: z.int(),
  rows: z.int(),
});
export type TerminalLaunch = z.output<typeof terminalLaunch>;

/** Messages of the process of a terminal. */
export const terminalNews = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("begun"), pid: z.int() }),
  z.object({ kind: z.literal("failed"), why: z.string() }),
  z.object({ kind: z.literal("ended"), code: z.int().nullable() }),
]);
export type TerminalNews = z.output<typeof terminalNews>;
