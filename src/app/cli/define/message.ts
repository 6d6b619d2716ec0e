import type { Command } from "commander";
import type { SendFlags } from "../commands/message/message.ts";
import { wholeNumber, type Act } from "./act.ts";

/** `message …` */
export function defineMessage(program: Command, act: Act): void {
  const message = program.command("message").description("send messages to chats without an agent");
  message
    .command("send")
    .description("send a message and report the result")
    .option("--to <chat>", "id of a person or group; user:…, group:… or channel:… where an id may be either")
    .option("-t, --target <chat>", "the same")
    .option("--channel <name>", "the platform; needed when several are switched on")
    .option("--account <id>", "account that sends")
    .option("-m, --message <text>", "text, as Markdown")
    .option("--media <path-or-url...>", "files of this machine, or web addresses")
    .option("--as-voice", "send an audio file as a voice note")
    .option("--reply-to <id>", "id of the message to answer")
    .option("--thread-id <id>", "topic or thread of the chat")
    .option("--silent", "send without a sound (Telegram and Discord)")
    .option("--idempotency-key <key>", "a repeated key sends nothing twice")
    .option("--timeout <ms>", "how long to wait for the platform", wholeNumber(0, 120_000), 20_000)
    .option("--dry-run", "check whether the message could be sent, and send nothing")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: SendFlags) => (await import("../commands/message/message.ts")).messageSend(io, options)),
    );
}
