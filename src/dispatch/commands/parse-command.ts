import { directivesIn } from "../directives/parse.ts";
import type { Scope } from "../../types/method.ts";
import type { DispatchSettings } from "../settings.ts";
import type { Command, Commands } from "./kit/command.ts";

/** A command that somebody typed, with the text after it. */
export interface TypedCommand {
  readonly command: Command;
  readonly args: string;
}

/** The command in a text. Undefined when it is no known command. */
export function commandIn(text: string, settings: DispatchSettings, commands: Commands): TypedCommand | undefined {
  const call = callIn(text, settings);
  const command = call && commands.find(call.name);
  return call && command && { command, args: call.args };
}

/**
 * The scopes that a client needs for the command that a text is, and for the directives in it, beside the right to
 * write. Pure.
 */
export function scopesFor(text: string, settings: DispatchSettings, commands: Commands): readonly Scope[] {
  const asked = commandIn(text, settings, commands);
  // The text after a command may become a turn, whose directives are read by themselves.
  const texts = settings.textCommands ? [text, ...(asked ? [asked.args] : [])] : [];
  const directives = texts.flatMap((part) => directivesIn(part)).map(({ command, args }) => ({ name: command, args }));
  const needed = [
    ...(asked ? [scopeOf(asked)] : []),
    ...directives.map(({ name, args }) => {
      const command = commands.find(name);
      return command && scopeOf({ command, args });
    }),
  ];
  return [...new Set(needed)].filter((scope) => scope !== undefined);
}

function scopeOf({ command: { who, scope, shows }, args }: TypedCommand): Scope | undefined {
  if (shows?.includes(args.trim().toLowerCase())) return undefined;
  return scope ?? (who === "owner" ? "operator.admin" : undefined);
}

/** A reset trigger of the config means `/new`; `/reset`, which is one by default, keeps its own name. */
function callIn(text: string, { textCommands, resetTriggers }: DispatchSettings): CommandCall | undefined {
  const said = text.trim();
  const trigger = resetTriggers.find((word) => said === word || said.startsWith(`${word} `));
  if (trigger !== undefined) {
    const name = trigger === "/reset" ? "reset" : "new";
    return { name, args: said.slice(trigger.length).trim() };
  }
  return textCommands ? parseCommand(text) : undefined;
}

/**
 * The words with which people end the agent's work at once. Each entry is a whole message, without capitals and
 * punctuation marks.
 */
const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    "stop, stop it, stop that, stop this, stop everything, stop all, stop working, stop doing anything, stop do nothing",
    "stop dont do anything, stop do not do anything, dont do that, do not do that, abort, cancel, halt, interrupt, esc, exit",
    "stopp, stoppe, anhalten, aufhören, hör auf, abbrechen, abbruch",
    "arrête, arrêtez, arrêter, arrete, stoppez",
    "para, detente, detén, deten, alto, basta, pare, parar, fermati, ferma",
    "dur, iptal, стоп, остановись, прекрати, хватит, отмена, зупинись",
    "停, 停止, 停下, 停下来, 别做了, 终止, 取消, 中止, 止めて, やめて, ストップ, 停止して",
    "멈춰, 그만, 중지, 중단, توقف, قف, रुको, रुकें, बंद करो",
  ].flatMap((words) => words.split(", ")),
);

/** Words beside a stop word that do not change its meaning. */
const BESIDE: ReadonlySet<string> = new Set(["please", "now", "immediately", "openclaw", "bitte", "sofort", "jetzt"]);
/** The most UTF-16 units of a message that only says to stop; a longer message says more. */
const MOST_CHARS = 60;

/** Whether a message says nothing but to stop, in the words of a person. Pure. */
export function isStopWord(text: string): boolean {
  if (text.length > MOST_CHARS) return false;
  const plain = text.normalize("NFKC").toLowerCase().replaceAll(/['’]/g, "");
  const words = plain.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== "" && !BESIDE.has(word));
  return STOP_WORDS.has(words.join(" "));
}

/** A slash command at the start of a message: `/think high`. */
export interface CommandCall {
  readonly name: string;
  readonly args: string;
}

const CALL = /^\/([a-z][a-z0-9_-]*)(?:[ \t:]+|\n|$)/i;

/**
 * The slash command at the start of a text. Undefined for `/new@some_bot`: an adapter removes this bot's own name from
 * a command, so a name that is left is the name of another bot.
 */
export function parseCommand(text: string): CommandCall | undefined {
  const trimmed = text.trim();
  const found = CALL.exec(trimmed);
  if (!found?.[1]) return undefined;
  return { name: found[1].toLowerCase(), args: trimmed.slice(found[0].length).trim() };
}
