import { z } from "zod";
import type { KeyValue } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import { QUESTION_ENDS, type QuestionEnd } from "../../types/chat/question-end.ts";

const NAME = "approvals.questions";
/** The most questions that are kept; of more, the oldest are forgotten. */
const MOST_KEPT = 200;

const kept = z.array(z.object({ id: z.string(), how: z.enum(QUESTION_ENDS).optional(), by: z.string().optional() }));

type Known = Map<string, QuestionEnd | "open">;

/**
 * How the last questions ended, over restarts. Questions that were open when the gateway ended were denied by its end.
 */
export class QuestionEnds {
  readonly #values: Pick<KeyValue, "get" | "set">;
  readonly #log: Log;
  #earlier: Promise<Known> | undefined;
  /** The questions of this process. */
  readonly #own: Known = new Map();

  constructor(values: Pick<KeyValue, "get" | "set">, log: Log) {
    this.#values = values;
    this.#log = log;
  }

  /** How a question ended. Undefined for a question that is open, or that nobody asked lately. Never rejects. */
  async of(id: string): Promise<QuestionEnd | undefined> {
    const found = this.#own.get(id) ?? (await this.#read()).get(id);
    return found === "open" ? undefined : found;
  }

  /** Notes an open question. Never rejects. */
  asked(id: string): Promise<void> {
    return this.#note(id, "open");
  }

  /**
   * Notes the end of a question. `of` knows the end at once; the end is durable when the promise resolves, unless the
   * log says otherwise. Never rejects.
   */
  ended(id: string, end: QuestionEnd): Promise<void> {
    return this.#note(id, end);
  }

  async #note(id: string, end: QuestionEnd | "open"): Promise<void> {
    this.#own.set(id, end);
    for (const oldest of [...this.#own.keys()].slice(0, -MOST_KEPT)) this.#own.delete(oldest);
    const all = new Map([...(await this.#read()), ...this.#own]);
    const rows = [...all].slice(-MOST_KEPT).map(([one, how]) => ({ id: one, ...(how !== "open" && how) }));
    try {
      await this.#values.set(NAME, JSON.stringify(rows));
    } catch (error) {
      this.#log.warn("the state of an approval question is not kept", { approval: id, error });
    }
  }

  #read(): Promise<Known> {
    this.#earlier ??= this.#readOnce();
    return this.#earlier;
  }

  async #readOnce(): Promise<Known> {
    try {
      const text = await this.#values.get(NAME);
      const rows = text === undefined ? [] : kept.parse(JSON.parse(text));
      return new Map(
        rows.map(({ id, how, by }) => [id, how ? { how, ...(by !== undefined && { by }) } : { how: "restart" }]),
      );
    } catch (error) {
      this.#log.warn("how earlier approval questions ended cannot be read", { error });
      return new Map();
    }
  }
}
