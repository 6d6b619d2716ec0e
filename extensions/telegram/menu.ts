import { createHash } from "node:crypto";
import { wait } from "openclaw/plugin-sdk";
import { failureOf } from "./send/failures.ts";
import type { Account } from "./account.ts";

/** core.telegram.org/bots/api#setmycommands and #botcommand */
const MOST_COMMANDS = 100;
const NAME = /^[a-z0-9_]{1,32}$/;
const DESCRIPTION = 256;

const TRIES = 3;
const NOTE = "menu";

interface Line {
  readonly command: string;
  readonly description: string;
}

/** The lines of the menu: the gateway's commands, then the operator's. None when the menu is off. */
function menuOf({ config, host }: Account): readonly Line[] {
  if (config.commands.native === false) return [];
  const own = config.customCommands.map(({ command, description }) => ({ command, description }));
  const lines = [...host.commands.map(({ name, description }) => ({ command: name, description })), ...own];
  const unique = lines.filter((line, at) => lines.findIndex(({ command }) => command === line.command) === at);
  const left = unique.filter(({ command }) => !NAME.test(command)).map(({ command }) => command);
  if (left.length > 0) host.log.info("commands left out of Telegram's menu: it does not allow their names", { left });
  return unique
    .filter(({ command, description }) => NAME.test(command) && description !== "")
    .slice(0, MOST_COMMANDS)
    .map(({ command, description }) => ({ command, description: description.slice(0, DESCRIPTION) }));
}

/** Sets or clears Telegram's menu of commands, unless it is up to date. Never rejects. */
export async function showMenu(account: Account, signal: AbortSignal): Promise<void> {
  const { bot, host } = account;
  const commands = menuOf(account);
  const [botId = ""] = bot.token.split(":");
  const digest =
    commands.length === 0
      ? ""
      : createHash("sha256")
          .update(JSON.stringify([botId, commands]))
          .digest("hex");
  for (let left = TRIES; left > 0 && !signal.aborted; left--) {
    try {
      if (((await host.notes.get(NOTE)) ?? "") === digest) return;
      if (commands.length > 0) await bot.calls.setMyCommands({ commands });
      else await bot.calls.deleteMyCommands({});
      await host.notes.set(NOTE, digest);
      return;
    } catch (error) {
      const failure = failureOf(error);
      host.log.info("the menu of commands could not be set", { reason: failure.text });
      await wait((failure.kind === "answered" ? failure.retryAfterMs : undefined) ?? 1000, signal);
    }
  }
}
