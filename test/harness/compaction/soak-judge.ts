import { openaiChatFaults } from "../../history/validators/openai-chat.ts";
import { isText, type Json, objects } from "../../history/validators/rules.ts";

/** What the soak's model answers: words, or a call. */
export type SoakReply = { readonly text: string } | { readonly tool: string; readonly args: Record<string, unknown> };

export interface SoakPlan {
  /** Tokens that no request may exceed. */
  readonly window: number;
  /** The call that turn `n` makes as its step, counted from 0; undefined when it has done enough. */
  callOf(n: number, step: number): Extract<SoakReply, { tool: string }> | undefined;
  /** The answer to turn `n`, of which this is the whole text. */
  answerTo(n: number, said: string): string;
}

const WORDS = "the quick brown fox jumps over the lazy dog while the gateway keeps every line of the talk in order; ";

/** What the user says in turn `n`: told apart from every other turn's, at its start and its end. */
export const soakText = (n: number): string => `turn-${n}; ${WORDS.repeat(1 + (n % 5))}end-${n};`;

/** Turns that have so many steps that they alone are larger than the window. */
const isEndless = (n: number): boolean => n % 50 === 0;
const STEPS = 40;

/** Every third turn makes a call, the result of every tenth is long, and every fiftieth makes forty such calls. */
export const callIn = (n: number, step: number): "short" | "long" | undefined => {
  if (step >= (isEndless(n) ? STEPS : 1)) return undefined;
  if (n % 10 === 0) return "long";
  return n % 3 === 0 ? "short" : undefined;
};

const MOST_IN_ORDER = 2;

/**
 * The model of a long conversation, which judges every request: is it valid, does it fit the window, does it show every
 * turn that no summary stands for, whole and in order, and is each turn summarised once.
 */
export class SoakJudge {
  readonly faults: string[] = [];
  calls = 0;
  summaries = 0;
  flushes = 0;
  /** Tokens of the largest request, a quarter of its bytes. */
  largest = 0;
  /** The last turn that the conversation's summary stands for. */
  #kept = 0;
  /** The last turn that a summariser was given. */
  #given = 0;
  /** The turn under way, and the steps it has made. */
  #turn = 0;
  #steps = 0;
  readonly #plan: SoakPlan;

  constructor(plan: SoakPlan) {
    this.#plan = plan;
  }

  /** Judges a request's body and answers it. */
  answer(request: Json): SoakReply {
    this.calls += 1;
    const tokens = Math.ceil(Buffer.byteLength(JSON.stringify(request)) / 4);
    this.largest = Math.max(this.largest, tokens);
    const messages = objects(request.messages);
    const last = textOf(messages.findLast(({ role }) => role === "user"));
    if (tokens > this.#plan.window) this.#fault(last, `${tokens} tokens`);
    for (const fault of openaiChatFaults(request)) this.#fault(last, fault);
    const system = textOf(messages[0]);
    if (system.startsWith("You write the memory")) return { text: this.#summarise(last) };
    const shown = messages.map(textOf).join("\n");
    // Of a turn that is larger than the window not even the turns before it fit in what is sent.
    if (this.#steps < MOST_IN_ORDER) this.#see(shown);
    else if (!shown.includes(soakText(this.#turn))) this.#fault(shown, "what was asked is not whole");
    if (last.includes("This is no message of the user.")) {
      this.flushes += 1;
      return { text: "NO_REPLY" };
    }
    return this.#reply(last, messages.at(-1)?.role === "tool");
  }

  #reply(said: string, isAfterTool: boolean): SoakReply {
    const n = turnsIn(said).at(-1);
    if (n === undefined) {
      this.#fault(said, "a request that answers no turn");
      return { text: "what?" };
    }
    if (!isAfterTool) this.#steps = 0;
    this.#turn = n;
    const call = this.#plan.callOf(n, this.#steps);
    this.#steps = call ? this.#steps + 1 : 0;
    return call ?? { text: this.#plan.answerTo(n, said) };
  }

  /** The summary says how far it goes. */
  #summarise(said: string): string {
    this.summaries += 1;
    const earlier = summaryIn(said);
    const turns = turnsIn(said);
    if (turns.length > 0 && turns[0] === this.#kept + 1) this.#given = this.#kept;
    for (const n of turns) {
      if (n !== this.#given + 1) this.#fault(said, `turn ${n} summarised behind turn ${this.#given}`);
      if (!said.includes(soakText(n))) this.#fault(said, `turn ${n} is not whole for its summary`);
      this.#given = n;
    }
    return `Summary up to no. ${Math.max(earlier ?? 0, ...turns)}. ${WORDS.repeat(3)}`;
  }

  #see(shown: string): void {
    const kept = summaryIn(shown) ?? 0;
    if (kept < this.#kept) this.#fault(shown, `the summary up to turn ${this.#kept} is gone`);
    this.#kept = kept;
    const turns = turnsIn(shown);
    for (const [at, n] of turns.entries()) {
      if (n !== kept + 1 + at) this.#fault(shown, `turn ${n} stands where turn ${kept + 1 + at} belongs`);
      if (!shown.includes(soakText(n))) this.#fault(shown, `turn ${n} is not whole`);
    }
  }

  #fault(said: string, fault: string): void {
    if (this.faults.length < 50) this.faults.push(`call ${this.calls} (turn ${turnsIn(said).at(-1)}): ${fault}`);
  }
}

function textOf(message: Json | undefined): string {
  if (isText(message?.content)) return message.content;
  return objects(message?.content)
    .map(({ text }) => (isText(text) ? text : ""))
    .join("\n");
}

const turnsIn = (text: string): number[] => [...text.matchAll(/\bturn-(\d+);/g)].map((found) => Number(found[1]));

function summaryIn(text: string): number | undefined {
  const found = [...text.matchAll(/Summary up to no\. (\d+)\./g)].map(([, n]) => Number(n));
  return found.length === 0 ? undefined : Math.max(...found);
}
