import type { BudgetState } from "../../../types/answers/usage.ts";
import type { Budgets, WantedRaise } from "../../../types/spend/budgets.ts";
import type { CallOrigin } from "../../../types/run/model-meter.ts";
import { takenText } from "../../../providers/budget/texts.ts";
import { originIn, type CommandAnswer, type CommandContext } from "../kit/command.ts";

const HOW = "To allow more until its time is over: /budget raise 2, /budget raise 50000 tokens, /budget raise 2 day.";
/** The largest raise, because sums of larger amounts are not exact. */
const MOST_RAISE = 1e12;
const NONE = "No budget limits this conversation. The config sets limits in budgets.";

/** Shows the budgets that limit a conversation, or raises one. */
export async function budget(context: CommandContext): Promise<CommandAnswer> {
  const {
    runs: { budgets },
  } = context.ports;
  const origin = originIn(context);
  const [word = "", ...words] = context.args.trim().toLowerCase().split(/\s+/);
  if (word === "" || word === "status") return { text: await statesText(budgets, origin) };
  const wanted = word === "raise" ? wantedIn(words) : undefined;
  if (!wanted) return { text: `I do not understand that. ${HOW}` };
  const raised = await budgets.raise(origin, wanted);
  if (typeof raised === "string") return { text: raised };
  return { text: [`Raised. ${lineOf(raised)}`, ...(await goOn(budgets, context))].join("\n") };
}

async function statesText(budgets: Budgets, origin: CallOrigin): Promise<string> {
  const states = await budgets.states(origin);
  return states.length === 0 ? NONE : ["Budgets:", ...states.map(lineOf), HOW].join("\n");
}

/** One budget in a line. */
const lineOf = (state: BudgetState): string => `${state.key} (${state.what}): ${takenText(state)}`;

/** The raise in words such as `2`, `$2`, `2 day`, `50000 tokens`, `50000 tokens session`; undefined in other words. */
function wantedIn([amount = "", ...rest]: readonly string[]): WantedRaise | undefined {
  const figure = Number(amount.replace(/^\$/, "").replaceAll(",", ""));
  if (amount === "" || !(figure > 0 && figure <= MOST_RAISE)) return undefined;
  const isTokens = /^tokens?$/i.test(rest[0] ?? "");
  const key = isTokens ? rest[1] : rest[0];
  if (rest.length > (isTokens ? 2 : 1)) return undefined;
  return { ...(isTokens ? { tokens: Math.ceil(figure) } : { money: figure }), ...(key !== undefined && { key }) };
}

/**
 * Lets the runs that waited for a budget and fit into it now try again. A yes to the questions of the other runs would
 * raise budgets that nobody meant to raise.
 */
async function goOn(budgets: Budgets, { approvals, message }: CommandContext): Promise<readonly string[]> {
  const by = `${message.from.channel}:${message.sender.id}`;
  const waiting = approvals.list().filter(({ askedBy }) => askedBy === "budget");
  const fitting = await Promise.all(
    waiting.map(async ({ runId }) => runId !== undefined && (await budgets.hasRoomFor(runId))),
  );
  for (const [at, { id }] of waiting.entries()) if (fitting[at]) approvals.resolve(id, "allow-once", by);
  const left = fitting.filter((fits) => !fits).length;
  return [
    ...(left < waiting.length ? ["What waited for it goes on."] : []),
    ...(left > 0 ? ["Other work still waits: its question says by how much its budget has to be raised."] : []),
  ];
}
