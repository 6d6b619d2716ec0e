import { Option, type Command } from "commander";
import type { ExportFlags } from "../commands/sessions/sessions-export.ts";
import type { SessionListFlags, ShowFlags } from "../commands/sessions/sessions.ts";
import { wholeNumber, type Act } from "./act.ts";

/** `sessions …` */
export function defineSessions(program: Command, act: Act): void {
  const sessions = program.command("sessions").description("conversations");
  sessions
    .command("list", { isDefault: true })
    .description("list conversations, the latest first (the default)")
    .option("--active <minutes>", "only conversations of the last minutes", wholeNumber(1))
    .option("--agent <id>", "only this agent's")
    .option("--limit <count>", "most entries to list", wholeNumber(1))
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SessionListFlags) =>
        (await import("../commands/sessions/sessions.ts")).sessionsList(io, options),
      ),
    );
  sessions
    .command("show")
    .argument("<key>", "conversation, as `openclaw sessions` names it")
    .description("show the last messages of a conversation")
    .option("--limit <count>", "most entries to list", wholeNumber(1, 1000), 20)
    .option("--json", "for scripts")
    .action(
      act(async (io, key: string, options: ShowFlags) => {
        const { sessionsShow } = await import("../commands/sessions/sessions.ts");
        return sessionsShow(io, key, options);
      }),
    );
  sessions
    .command("export")
    .argument("<key>", "conversation, as `openclaw sessions` names it")
    .description("export the whole transcript of a conversation")
    .addOption(
      new Option("--format <format>", "the lines of the file, or Markdown")
        .choices(["jsonl", "markdown"])
        .default("jsonl"),
    )
    .option("-o, --output <file>", "write a new file instead of standard output")
    .action(
      act(async (io, key: string, options: ExportFlags) => {
        const { sessionsExport } = await import("../commands/sessions/sessions-export.ts");
        return sessionsExport(io, key, options);
      }),
    );
}
