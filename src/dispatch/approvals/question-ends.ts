import { z } from "zod";
import type { Clock } from "../../types/clock.ts";
import { agentId, sessionKey } from "../../types/ids.ts";
import type { KeyValue } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import { PERSONS_ANSWERS } from "../../types/answers/approvals.ts";
import { answersTo, type EndedQuestion, QUESTION_ENDS, type QuestionEnd } from "../../types/chat/question-end.ts";
import { type Approval, SEVERITIES } from "../../types/run/tool.ts";
import { defined } from "../../utils/defined.ts";
import { shorten } from "../../utils/text/shorten.ts";

const NAME = "approvals.questions";
/** The most questions that are kept; of more, the oldest are forgotten. */
const MOST_KEPT = 200;
/** UTF-16 units of a question that are kept. */
const MOST_SHOWN = 2000;

const pluginWords = z.object({
  title: z.string().optional(),
  description: z.string().optional(),
  severity: z.enum(SEVERITIES).optional(),
  toolName: z.string().optional(),
  pluginId: z.string().optional(),
});
const askedAbout = z.object({
  command: z.string(),
  askedBy: z.enum(["plugin", "budget"]).optional(),
  plugin: pluginWords.optional(),
  agentId: z.string().transform(agentId),
  sessionKey: z.string().transform(sessionKey).optional(),
  answers: z.array(z.enum(PERSONS_ANSWERS)),
  createdAt: z.number(),
  expiresAt: z.number(),
});
const kept = z.array(
  z.object({
    id: z.string(),
    how: z.enum(QUESTION_ENDS).optional(),
    by: z.string().optional(),
    at: z.number().optional(),
    asked: askedAbout.optional(),
  }),
);

/** A question, and how it ended. Questions of earlier versions have neither what was asked nor when it ended. */
interface Known {
  readonly end?: QuestionEnd;
  readonly at?: number;
  readonly asked?: Omit<EndedQuestion, "id" | "end" | "at">;
}

/**
 * The last questions and how they ended, over restarts. Questions that were open when the gateway ended were denied by its
 * end.
 */
export class QuestionEnds {
  readonly #values: Pick<KeyValue, "get" | "set">;
  readonly #clock: Pick<Clock, "now">;
  readonly #log: Log;
  #earlier: Promise<ReadonlyMap<string, Known>> | undefined;
  /** The questions of this process. */
  readonly #own = new Map<string, Known>();

  constructor(values: Pick<KeyValue, "get" | "set">, clock: Pick<Clock, "now">, log: Log) {
    this.#values = values;
    this.#clock = clock;
    this.#log = log;
  }

  /** How a question ended. Undefined for a question that is open, or that nobody asked lately. Never rejects. */
  async of(id: string): Promise<QuestionEnd | undefined> {
    return (this.#own.get(id) ?? (await this.#read()).get(id))?.end;
  }

  /** The questions that have ended, the last one first. Never rejects. */
  async all(): Promise<readonly EndedQuestion[]> {
    const rows = [...new Map([...(await this.#read()), ...this.#own])];
    const ended = rows.flatMap(([id, { end, at, asked }]) => (end && at && asked ? [{ ...asked, id, end, at }] : []));
    return ended.toReversed();
  }

  /** Notes an open question. Never rejects. */
  asked(approval: Approval): Promise<void> {
    return this.#note(approval.id, { asked: aboutOf(approval) });
  }

  /**
   * Notes the end of a question. `of` knows the end at once; the end is durable when the promise resolves, unless the
   * log says otherwise. Never rejects.
   */
  ended(approval: Approval, end: QuestionEnd): Promise<void> {
    return this.#note(approval.id, { end, at: this.#clock.now(), asked: aboutOf(approval) });
  }

  async #note(id: string, known: Known): Promise<void> {
    this.#own.delete(id);
    this.#own.set(id, known);
    for (const oldest of [...this.#own.keys()].slice(0, -MOST_KEPT)) this.#own.delete(oldest);
    const all = new Map([...(await this.#read()), ...this.#own]);
    const rows = [...all].slice(-MOST_KEPT).map(([one, { end, ...about }]) => ({ id: one, ...end, ...about }));
    try {
      await this.#values.set(NAME, JSON.stringify(rows));
    } catch (error) {
      this.#log.warn("the state of an approval question is not kept", { approval: id, error });
    }
  }

  #read(): Promise<ReadonlyMap<string, Known>> {
    this.#earlier ??= this.#readOnce();
    return this.#earlier;
  }

  async #readOnce(): Promise<ReadonlyMap<string, Known>> {
    const now = this.#clock.now();
    try {
      const text = await this.#values.get(NAME);
      const rows = text === undefined ? [] : kept.parse(JSON.parse(text));
      return new Map(
        rows.map(({ id, how, by, at = now, asked }) => {
          const end: QuestionEnd = how ? { how, ...(by !== undefined && { by }) } : { how: "restart" };
          return [id, { end, at, ...(asked && { asked: shownOf(asked) }) }];
        }),
      );
    } catch (error) {
      this.#log.warn("how earlier approval questions ended cannot be read", { error });
      return new Map();
    }
  }
}

function shownOf({ askedBy, plugin, sessionKey: key, ...asked }: z.output<typeof askedAbout>) {
  return { ...asked, ...defined({ askedBy, plugin: plugin && defined(plugin), sessionKey: key }) };
}

function aboutOf(approval: Approval): NonNullable<Known["asked"]> {
  const { command, askedBy, plugin, agentId: agent, sessionKey: key, createdAt, expiresAt } = approval;
  return {
    command: shorten(command, MOST_SHOWN, () => " … "),
    ...(askedBy && { askedBy }),
    ...(plugin && { plugin }),
    agentId: agent,
    ...(key !== undefined && { sessionKey: key }),
    answers: [...answersTo(approval)],
    createdAt,
    expiresAt,
  };
}
