import { createHash } from "node:crypto";
import { wait } from "openclaw/plugin-sdk";
import { failureOf } from "./send/failures.ts";
import type { Account } from "./account.ts";

/** core.telegram.org/bots/api#setmycommands and #botcommand */
const MOST_COMMANDS = 100;
const NAME = /^[a-z0-9_]{1,32}$/;
const DESCRIPTION = 256;
const SHORT_DESCRIPTION = 48;

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
  // The core finds a command with a hyphen by this name too.
  const ours = host.commands.map(({ name, description }) => ({ command: name.replaceAll("-", "_"), description }));
  const lines = [...ours, ...own];
  const unique = lines.filter((line, at) => lines.findIndex(({ command }) => command === line.command) === at);
  const left = unique.filter(({ command }) => !NAME.test(command)).map(({ command }) => command);
  if (left.length > 0) host.log.info("commands left out of Telegram's menu: it does not allow their names", { left });
  return unique.filter(({ command, description }) => NAME.test(command) && description !== "");
}

/**
 * Forms of the menu, each smaller than the form before: Telegram names no limit of the whole. The first is shown where
 * all commands fit.
 */
function* formsOf(lines: readonly Line[]): Generator<readonly Line[]> {
  const most = lines.slice(0, MOST_COMMANDS);
  yield most.map((line) => shortened(line, DESCRIPTION));
  for (let count = most.length; count > 0; count = Math.floor(count * 0.75))
    yield most.slice(0, count).map((line) => shortened(line, SHORT_DESCRIPTION));
}

const shortened = ({ command, description }: Line, most: number): Line => ({
  command,
  description: description.length > most ? `${description.slice(0, most - 1).trimEnd()}…` : description,
});

/** Sets or clears Telegram's menu of commands, unless it is up to date. Never rejects. */
export async function showMenu(account: Account, signal: AbortSignal): Promise<void> {
  const { bot, host } = account;
  const lines = menuOf(account);
  const digest = digestOf(lines, account);
  const forms = formsOf(lines);
  let commands = lines.length === 0 ? [] : take(forms);
  for (let left = TRIES; left > 0 && commands && !signal.aborted;) {
    try {
      if (((await host.notes.get(NOTE)) ?? "") === digest) return;
      if (commands.length > 0) await bot.calls.setMyCommands({ commands });
      else await bot.calls.deleteMyCommands({});
      await host.notes.set(NOTE, digest);
      return tellLeftOut(lines, commands, account);
    } catch (error) {
      const failure = failureOf(error);
      host.log.info("the menu of commands could not be set", { reason: failure.text, commands: commands.length });
      if (failure.kind === "answered" && failure.code === 400) {
        commands = take(forms);
        continue;
      }
      left -= 1;
      await wait((failure.kind === "answered" ? failure.retryAfterMs : undefined) ?? 1000, signal);
    }
  }
  if (!signal.aborted) host.log.warn("Telegram's menu of commands was not changed");
}

/** Empty for the empty menu of a new bot. */
function digestOf(lines: readonly Line[], { bot }: Account): string {
  if (lines.length === 0) return "";
  const [botId = ""] = bot.token.split(":");
  return createHash("sha256")
    .update(JSON.stringify([botId, lines]))
    .digest("hex");
}

const take = (forms: Generator<readonly Line[]>): readonly Line[] | undefined => forms.next().value ?? undefined;

function tellLeftOut(lines: readonly Line[], shown: readonly Line[], { host }: Account): void {
  const left = lines.slice(shown.length).map(({ command }) => command);
  if (left.length > 0)
    host.log.warn("commands left out of Telegram's menu: it takes no more; people can type them", { left });
}
