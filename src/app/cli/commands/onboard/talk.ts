import type * as Clack from "@clack/prompts";
import { styleText } from "node:util";
import { withFix } from "../../../../types/errors.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** Where a person goes who gave no answer to a question. */
export type Way = "again" | "back" | "leave";

/** A question was not answered: the step ends, as an aborted call does. Nothing of it is written after that. */
export class StepLeft extends Error {
  override readonly name = "StepLeft";
  readonly way: Way;

  constructor(way: Way) {
    super(`a question was left: ${way}`);
    this.way = way;
  }
}

export interface AnswerChoice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

interface Typed {
  readonly message: string;
  /** The answer when nothing is typed. */
  readonly initial?: string;
  readonly placeholder?: string;
  /** Whether an empty answer is one. */
  readonly mayBeEmpty?: boolean;
  /** Why an answer does not fit; undefined when it does. */
  readonly check?: (text: string) => string | undefined;
}

type Prompts = typeof Clack;

/**
 * Questions to a person at a terminal. A question that is left with Ctrl-C or Escape asks where to go and throws `StepLeft`; a second one ends
 * the set-up.
 */
export class TerminalQuestions {
  readonly #prompts: Prompts;

  private constructor(prompts: Prompts) {
    this.#prompts = prompts;
  }

  static async open(): Promise<TerminalQuestions> {
    return new TerminalQuestions(await import("@clack/prompts"));
  }

  begin = (title: string): void => this.#prompts.intro(styleText("inverse", ` ${title} `));
  end = (text: string): void => this.#prompts.outro(text);
  note = (text: string, title: string): void => this.#prompts.note(text, title);
  say = (text: string): void => this.#prompts.log.step(withoutTerminalControls(text));
  done = (text: string): void => this.#prompts.log.success(withoutTerminalControls(text));
  warn = (text: string): void => this.#prompts.log.warn(withoutTerminalControls(text));
  failed = (error: unknown): void => this.#prompts.log.error(withoutTerminalControls(withFix(error)));

  async choose<Value extends string>(
    message: string,
    choices: readonly AnswerChoice<Value>[],
    initial?: Value,
  ): Promise<Value> {
    const answer = await this.#select(message, choices, { ...(initial !== undefined && { initialValue: initial }) });
    return answer ?? this.#leave();
  }

  /** The same, until `found` resolves with a value. */
  async chooseUntil<Value extends string, Found>(
    message: string,
    choices: readonly AnswerChoice<Value>[],
    found: (signal: AbortSignal) => Promise<Found>,
  ): Promise<{ readonly chosen: Value } | { readonly found: Found }> {
    const over = new AbortController();
    const asked = new AbortController();
    const look = found(over.signal).then((value) => {
      asked.abort();
      return { found: value };
    });
    // A look that fails leaves the person the choices; its error is thrown when it is awaited below.
    look.catch(() => asked.abort());
    try {
      const chosen = await this.#select(message, choices, { signal: asked.signal });
      if (asked.signal.aborted) return await look;
      return { chosen: chosen ?? (await this.#leave()) };
    } finally {
      over.abort();
    }
  }

  async #select<Value extends string>(
    message: string,
    choices: readonly AnswerChoice<Value>[],
    more: { readonly initialValue?: Value; readonly signal?: AbortSignal },
  ): Promise<Value | undefined> {
    const values = choices.map(({ value }) => value);
    const options = choices.map(({ value, label, hint }) => ({ value: value as string, label, ...(hint && { hint }) }));
    const answer = await this.#prompts.select<string>({ message, options, showInstructions: false, ...more });
    return values.find((value) => value === answer);
  }

  async type({ message, initial, placeholder, mayBeEmpty = false, check }: Typed): Promise<string> {
    const answer = await this.#prompts.text({
      message,
      ...(initial !== undefined && { initialValue: initial }),
      ...(placeholder !== undefined && { placeholder }),
      validate: (text) => problemIn(text, { mayBeEmpty, check }),
    });
    return typeof answer === "string" ? answer.trim() : this.#leave();
  }

  /** Shows no character of the answer. */
  async typeHidden({ message, mayBeEmpty = false, check }: Typed): Promise<string> {
    const answer = await this.#prompts.password({
      message,
      validate: (text) => problemIn(text, { mayBeEmpty, check }),
    });
    return typeof answer === "string" ? answer.trim() : this.#leave();
  }

  async confirm(message: string, initial = true): Promise<boolean> {
    const answer = await this.#prompts.confirm({ message, initialValue: initial });
    return typeof answer === "boolean" ? answer : this.#leave();
  }

  async #leave(): Promise<never> {
    const way = await this.#select<Way>("This step was left. What now?", WAYS, {});
    throw new StepLeft(way ?? "leave");
  }
}

const WAYS: readonly AnswerChoice<Way>[] = [
  { value: "back", label: "Back to the step before" },
  { value: "again", label: "Begin this step again" },
  { value: "leave", label: "Leave the set-up", hint: "what is set up stays; openclaw onboard continues" },
];

function problemIn(
  text: string | undefined,
  { mayBeEmpty, check }: { readonly mayBeEmpty: boolean; readonly check: Typed["check"] },
): string | undefined {
  const given = (text ?? "").trim();
  if (given === "") return mayBeEmpty ? undefined : "Type an answer, or leave with Escape.";
  return check?.(given);
}
