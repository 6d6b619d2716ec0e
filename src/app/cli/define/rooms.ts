import { Option, type Command } from "commander";
import type { ExportFlags } from "../commands/sessions/sessions-export.ts";
import type { ListFlags, ShowFlags } from "../commands/sessions/sessions.ts";
import { wholeNumber, type Act } from "./act.ts";
import { defineChannels } from "./channels.ts";
import { defineModels } from "./models.ts";

interface Json {
  readonly json?: boolean;
}

/** The commands about one room each: sessions, pairing, channels, models. */
export function defineRooms(program: Command, act: Act): void {
  defineSessions(program, act);
  definePairing(program, act);
  defineChannels(program, act);
  defineModels(program, act);
}

function defineSessions(program: Command, act: Act): void {
  const sessions = program.command("sessions").description("conversations");
  sessions
    .command("list", { isDefault: true })
    .description("conversations, the latest first (the default)")
    .option("--active <minutes>", "only those of the last minutes", wholeNumber(1))
    .option("--agent <id>", "only this agent's")
    .option("--limit <count>", "at most so many", wholeNumber(1))
    .option("--json", "for scripts")
    .action(
      act(async (io, options: ListFlags) =>
        (await import("../commands/sessions/sessions.ts")).sessionsList(io, options),
      ),
    );
  sessions
    .command("show")
    .argument("<key>", "as `openclaw sessions` names it")
    .description("the last messages of a conversation")
    .option("--limit <count>", "at most so many", wholeNumber(1, 1000), 20)
    .option("--json", "for scripts")
    .action(
      act(async (io, key: string, options: ShowFlags) => {
        const { sessionsShow } = await import("../commands/sessions/sessions.ts");
        return sessionsShow(io, key, options);
      }),
    );
  sessions
    .command("export")
    .argument("<key>", "as `openclaw sessions` names it")
    .description("the whole transcript of a conversation")
    .addOption(
      new Option("--format <format>", "the file's own lines, or for reading")
        .choices(["jsonl", "markdown"])
        .default("jsonl"),
    )
    .option("-o, --output <file>", "a new file instead of standard output")
    .action(
      act(async (io, key: string, options: ExportFlags) => {
        const { sessionsExport } = await import("../commands/sessions/sessions-export.ts");
        return sessionsExport(io, key, options);
      }),
    );
}

function definePairing(program: Command, act: Act): void {
  const pairing = program.command("pairing").description("strangers who want to write to the agent");
  pairing
    .command("list")
    .argument("[channel]", "only of this channel")
    .description("who waits, and their codes")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string | undefined, options: Json) => {
        const { pairingList } = await import("../commands/pairing.ts");
        return pairingList(io, channel, options);
      }),
    );
  pairing
    .command("approve")
    .argument("<channel>", "channel of the stranger")
    .argument("<code>", "the code that the stranger was given, or the stranger's id on the platform")
    .description("let a stranger in")
    .option("--account <accountId>", "of this account, where an id waits at several")
    .option("--notify", "tell the stranger")
    .option("--json", "for scripts")
    .action(
      act(async (io, channel: string, code: string, options: Json & { notify?: boolean; account?: string }) => {
        const { pairingApprove } = await import("../commands/pairing.ts");
        return pairingApprove(io, { channel, code }, options);
      }),
    );
}
