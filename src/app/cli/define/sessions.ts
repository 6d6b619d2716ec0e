import { Option, type Command } from "commander";
import type { ChangeFlags } from "../commands/sessions/sessions-change.ts";
import type { CleanupFlags } from "../commands/sessions/sessions-cleanup.ts";
import type { SessionImportFlags } from "../commands/sessions/sessions-import.ts";
import type { ExportFlags } from "../commands/sessions/sessions-export.ts";
import type { SessionListFlags, ShowFlags } from "../commands/sessions/sessions.ts";
import { unasked, wholeNumber, type Act } from "./act.ts";

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
    .description("export the transcript of a conversation")
    .addOption(
      new Option("--format <format>", "the lines of the file, or Markdown")
        .choices(["jsonl", "markdown"])
        .default("jsonl"),
    )
    .option("-o, --output <file>", "write a new file instead of standard output")
    .option("--all-branches", "also what was said before somebody went back in the conversation; of Markdown")
    .action(
      act(async (io, key: string, options: ExportFlags) => {
        const { sessionsExport } = await import("../commands/sessions/sessions-export.ts");
        return sessionsExport(io, key, options);
      }),
    );
  defineChanges(sessions, act);
  defineUpkeep(sessions, act);
}

const KEY = "conversation, as `openclaw sessions` names it";

function defineChanges(sessions: Command, act: Act): void {
  unasked(sessions.command("delete").argument("<keys...>", KEY))
    .description("delete conversations; their transcripts are kept under another name")
    .option("--agent <id>", "the agent that they must belong to")
    .option("--dry-run", "only say what would be deleted")
    .option("--json", "for scripts; needs --yes")
    .action(
      act(async (io, keys: readonly string[], options: ChangeFlags) =>
        (await import("../commands/sessions/sessions-change.ts")).sessionsDelete(io, keys, options),
      ),
    );
  sessions
    .command("archive")
    .argument("<keys...>", KEY)
    .description("put conversations into the archive, until a message comes")
    .option("--agent <id>", "the agent that they must belong to")
    .option("--dry-run", "only say what would be done")
    .option("--json", "for scripts")
    .action(
      act(async (io, keys: readonly string[], options: ChangeFlags) =>
        (await import("../commands/sessions/sessions-change.ts")).sessionsArchive(io, keys, options),
      ),
    );
  sessions
    .command("rename")
    .argument("<key>", KEY)
    .argument("<name>", "its name in lists; an empty one removes it")
    .description("name a conversation")
    .option("--json", "for scripts")
    .action(
      act(async (io, key: string, name: string, options: ChangeFlags) =>
        (await import("../commands/sessions/sessions-change.ts")).sessionsRename(io, key, name, options),
      ),
    );
}

function defineUpkeep(sessions: Command, act: Act): void {
  sessions
    .command("cleanup")
    .description("keep the conversations within session.maintenance now, or say what is due")
    .option("--dry-run", "only say what is due")
    .option("--enforce", "do it also where session.maintenance.mode is warn")
    .option("--active-key <key>", "conversation that stays")
    .option("--agent <id>", "only this agent's")
    .option("--all-agents", "every agent's, which it is without --agent; --json then has a list of stores")
    .option("--fix-missing", "delete those whose transcript is missing")
    .option("--fix-dm-scope", "delete those of single people, which session.dmScope main does not use")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: CleanupFlags) =>
        (await import("../commands/sessions/sessions-cleanup.ts")).sessionsCleanup(io, options),
      ),
    );
  sessions
    .command("import")
    .argument("<file>", "transcript of any program, a .jsonl file")
    .description("make a transcript that of a conversation; the file stays where it is")
    .option("--key <key>", "conversation that gets it; a new one of the page when unset")
    .option("--agent <id>", "agent of the new conversation")
    .option("--replace", "put the messages aside that the conversation has, as /new does")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string, options: SessionImportFlags) =>
        (await import("../commands/sessions/sessions-import.ts")).sessionsImport(io, file, options),
      ),
    );
}
