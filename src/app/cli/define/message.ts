import type { Command } from "commander";
import type { SendFlags } from "../commands/message/message.ts";
import { wholeNumber, type Act } from "./act.ts";

/** `message …` */
export function defineMessage(program: Command, act: Act): void {
  const message = program.command("message").description("messages into chats, past any agent");
  message
    .command("send")
    .description("send a message and tell what became of it")
    .option("--to <chat>", "id of a person or group; user:…, group:… or channel:… where an id may be either")
    .option("-t, --target <chat>", "the same")
    .option("--channel <name>", "the platform; needed when several are switched on")
    .option("--account <id>", "which account sends")
    .option("-m, --message <text>", "what is said, as Markdown")
    .option("--media <path-or-url...>", "files of this machine, or web addresses")
    .option("--as-voice", "an audio file goes as a voice note")
    .option("--reply-to <id>", "the message that it answers")
    .option("--thread-id <id>", "topic or thread of the chat")
    .option("--silent", "without a sound, where the platform knows that: Telegram and Discord")
    .option("--idempotency-key <key>", "the same key again sends nothing twice")
    .option("--timeout <ms>", "how long to wait for the platform", wholeNumber(0, 120_000), 20_000)
    .option("--dry-run", "look whether it could be sent, and send nothing")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SendFlags) => (await import("../commands/message/message.ts")).messageSend(io, options)),
    );
}
