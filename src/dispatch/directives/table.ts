import type { CommandAccess } from "../../types/contribution.ts";
import type { ModelRef, ThinkLevel } from "../../types/run/model.ts";
import { reasoningLevelOf, type ReasoningLevel } from "../../types/run/reasoning-level.ts";
import { speechLevelOf, type SpeechLevel } from "../../types/media/speech.ts";
import { usageLevelOf, type UsageLevel } from "../../types/run/usage-level.ts";
import { verboseLevelOf, type VerboseLevel } from "../../types/run/verbose.ts";
import type { QueueWish } from "../queue/queue-settings.ts";
import { elevatedLevelOf, type ElevatedLevel, type SessionExec } from "../../types/run/exec-wish.ts";
import { execWords, looksLikeExecWord } from "./exec-words.ts";
import { looksLikeOption, queueWord } from "./queue-words.ts";
import { thinkLevelOf } from "./think-words.ts";

/** The values that the directives of a message set for that message. */
export interface DirectiveValues {
  readonly think?: ThinkLevel;
  readonly queue?: QueueWish;
  readonly verbose?: VerboseLevel;
  readonly usage?: UsageLevel;
  readonly reasoning?: ReasoningLevel;
  readonly tts?: SpeechLevel;
  readonly model?: ModelRef;
  readonly elevated?: ElevatedLevel;
  readonly exec?: SessionExec;
}

/** The facts about the agent of a message that directives need. */
export interface KnownWords {
  /** The model with this name; undefined when it is none that the agent may be asked to use. */
  modelOf(word: string): ModelRef | undefined;
}

/** A command that may also be a word of a message; then it holds for that message. */
export interface Directive {
  readonly command: keyof DirectiveValues;
  /** The people who may use the directive, as for the command. */
  readonly who: CommandAccess;
  /**
   * Reads the value from the words after the name. `count`: how many words belong to the value. Undefined when the
   * first word is no value.
   */
  read(
    words: readonly string[],
    known: KnownWords,
  ): { readonly values: DirectiveValues; readonly count: number } | undefined;
}

/** A directive whose value is one word. */
const oneWord = <Name extends keyof DirectiveValues>(
  command: Name,
  who: CommandAccess,
  valueOf: (word: string, known: KnownWords) => DirectiveValues[Name],
): Directive => ({
  command,
  who,
  read([word = ""], known) {
    const value = valueOf(word, known);
    return value === undefined ? undefined : { values: { [command]: value }, count: 1 };
  },
});

const THINK = oneWord("think", "conversation", thinkLevelOf);
const VERBOSE = oneWord("verbose", "conversation", verboseLevelOf);
const USAGE = oneWord("usage", "conversation", usageLevelOf);
const TTS = oneWord("tts", "conversation", speechLevelOf);
const REASONING = oneWord("reasoning", "owner", reasoningLevelOf);

const MODEL = oneWord("model", "conversation", (word, known) => known.modelOf(word));

const QUEUE: Directive = {
  command: "queue",
  who: "conversation",
  read(words) {
    const wishes = words.map(queueWord);
    const end = wishes.indexOf(undefined);
    const own = end < 0 ? wishes : wishes.slice(0, end);
    const next = words[own.length];
    // The next word is a wrong option. No directive is read, so that the command names the word, or at least the text
    // shows it.
    if (next !== undefined && looksLikeOption(next)) return undefined;
    return own.length === 0 ? undefined : { values: { queue: Object.assign({}, ...own) }, count: own.length };
  },
};

/** `refusalOf` decides who may use this directive. */
const ELEVATED = oneWord("elevated", "anyone", (word) => elevatedLevelOf(word.toLowerCase()));

const EXEC: Directive = {
  command: "exec",
  who: "owner",
  read(words) {
    const end = words.findIndex((word) => !looksLikeExecWord(word));
    const own = end < 0 ? words : words.slice(0, end);
    const wish = execWords(own);
    return own.length === 0 || typeof wish === "string" ? undefined : { values: { exec: wish }, count: own.length };
  },
};

/** The directives by their names. */
export const DIRECTIVES: ReadonlyMap<string, Directive> = new Map([
  ["think", THINK],
  ["thinking", THINK],
  ["t", THINK],
  ["queue", QUEUE],
  ["verbose", VERBOSE],
  ["v", VERBOSE],
  ["usage", USAGE],
  ["tts", TTS],
  ["reasoning", REASONING],
  ["reason", REASONING],
  ["model", MODEL],
  ["elevated", ELEVATED],
  ["elev", ELEVATED],
  ["exec", EXEC],
]);
