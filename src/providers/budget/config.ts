import { z } from "zod";
import { about } from "../../utils/config.ts";
import { makes } from "../../utils/makes.ts";

const cap = z.strictObject({
  money: z
    .number()
    .min(0)
    .optional()
    .meta(about("Money", "The most that may be spent, in `budgets.currency`. No limit when unset.")),
  tokens: z
    .int()
    .min(0)
    .optional()
    .meta(about("Tokens", "The most tokens, of requests and answers together. No limit when unset.")),
});

const capOf = (title: string, what: string, example?: unknown) =>
  cap.optional().meta(about(title, what, ...(example === undefined ? [] : [example])));

const isZone = makes((timeZone: string) => new Intl.DateTimeFormat("en", { timeZone }));

/** `budgets.*` */
export const budgetsConfig = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, "is no currency of three capital letters")
    .default("USD")
    .meta(about("Currency", "The currency of every `money`. Prices are in US dollars.")),
  usdPerUnit: z
    .number()
    .positive()
    .optional()
    .meta(about("Rate", "US dollars that one unit of `currency` is worth; needed when it is not `USD`.")),
  timezone: z
    .string()
    .min(1)
    .refine(isZone, "is no time zone")
    .optional()
    .meta(about("Time zone", "The zone in which days and months begin; that of the machine when unset.")),
  call: capOf("Call", "One call of a model."),
  run: capOf("Run", "One run, together with the subagents that it starts.", { money: 2 }),
  jobRun: capOf("Run of a job", "One run of a scheduled job, together with its subagents."),
  job: capOf("Job", "Each scheduled job, a day."),
  session: capOf("Conversation", "Each conversation, a day, together with its subagents."),
  agent: capOf("Agent", "Each agent, a day."),
  sender: capOf("Sender", "Each person who writes, a day. Operator clients have no such limit."),
  day: capOf("Day", "Everything, a day.", { money: 5 }),
  month: capOf("Month", "Everything, a month.", { money: 60 }),
  agents: z
    .record(z.string(), cap)
    .optional()
    .meta(about("Agents", "A day of single agents by their ids, instead of `agent`.")),
  jobs: z
    .record(z.string(), cap)
    .optional()
    .meta(about("Jobs", "A day of single scheduled jobs by their ids, instead of `job`.")),
  soft: z
    .strictObject({
      share: z
        .number()
        .min(0)
        .max(1)
        .default(0.8)
        .meta(about("Share", "The part of a limit from which on the smaller model answers.")),
      model: z
        .string()
        .min(1)
        .optional()
        .meta(
          about(
            "Model",
            "The smaller model, as `provider/model`. No other model answers when unset.",
            "openai/gpt-5-mini",
          ),
        ),
    })
    .optional()
    .meta(about("Soft limit", "Before a limit is reached, a smaller model answers, and the answer says so.")),
});

export type BudgetsConfig = z.output<typeof budgetsConfig>;
export type CapConfig = z.output<typeof cap>;
