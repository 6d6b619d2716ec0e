import type { RunId, SessionKey } from "../../types/ids.ts";
import { type ModelRef, parseModelName } from "../../types/run/model.ts";
import type { CallOrigin } from "../../types/run/model-meter.ts";
import type { BudgetState } from "../../types/answers/usage.ts";
import type { BudgetRefusal, Budgets, SoftModel, WantedRaise } from "../../types/spend/budgets.ts";
import type { Amount, SpendSum } from "../../types/spend/ledger.ts";
import { Feed } from "../../utils/feed.ts";
import { sumOf } from "./sum.ts";
import { capsFor, hasCaps } from "./caps.ts";
import { dayAt, daysAt } from "./days.ts";
import { amountOf, leftOf, type Room, stateOf, takenText, tokensText, usdText } from "./texts.ts";
import { BudgetMeter, type BudgetPorts, type CapRefusedCall } from "./meter.ts";

/** Least part of a limit by which an owner's yes raises it, so that the next call does not ask again. */
const RAISED_SHARE = 0.25;

/** The budgets with the meter that keeps them. */
export interface OpenBudgets extends Budgets {
  readonly meter: BudgetMeter;
  /** Each call that a budget did not allow. */
  readonly refusals: Feed<CapRefusedCall>;
}

export function openBudgets(ports: BudgetPorts): OpenBudgets {
  const refusals = new Feed<CapRefusedCall>();
  const meter = new BudgetMeter({ ...ports, onRefused: (refused) => refusals.publish(refused) });
  const rooms = (origin: CallOrigin) => roomsFor(origin, ports);
  return {
    meter,
    refusals,
    refusedIn: (runId) => refusalOf(meter.refusedIn(runId)),
    hasRoomFor: async (runId) => isNothing(await missingFor(meter.refusedIn(runId), ports)),
    allow: (runId) => allow(meter, runId, ports),
    states: async (origin) => (await rooms(origin)).map(stateOf),
    raise: (origin, wanted) => raise(origin, wanted, ports),
    spentToday: (session) => spentToday(session, ports),
    softFor: async (origin) => {
      const { soft, timezone } = ports.config();
      const model = soft?.model === undefined ? undefined : parseModelName(soft.model);
      if (!soft || !model) return undefined;
      const found = softOf(model, soft.share, await rooms(origin));
      return found && { ...found, day: dayAt(ports.clock.now(), timezone) };
    },
  };
}

async function spentToday(session: SessionKey | undefined, { ledger, clock, config }: BudgetPorts): Promise<SpendSum> {
  const day = dayAt(clock.now(), config().timezone);
  const days = { since: day, until: day };
  if (session === undefined) return sumOf(await ledger.lines({ scope: "all", ...days }));
  const own = await ledger.lines({ scope: "session", name: session, ...days });
  return sumOf([...own, ...(await ledger.lines({ scope: "family", name: session, ...days }))]);
}

/** The limits that apply to an origin; none is looked up when the config has none. */
async function roomsFor(origin: CallOrigin, { config, clock, ledger }: BudgetPorts): Promise<readonly Room[]> {
  const now = config();
  if (!hasCaps(now)) return [];
  const days = daysAt(clock.now(), now.timezone);
  const { agentId, sessionKey, runId } = origin;
  return ledger.look({ agentId, sessionKey, runId }, (account, balanceOf) =>
    capsFor(now, account, days).flatMap((cap) => (cap.place ? [{ cap, balance: balanceOf(cap.place) }] : [])),
  );
}

function refusalOf(refused: CapRefusedCall | undefined): BudgetRefusal | undefined {
  if (!refused) return undefined;
  const { text } = refused;
  const raise = raiseFor(refused);
  return { text, ...(raise && { raise: `${raisedText(raise)} for ${refused.cap.what}` }) };
}

const raisedText = ({ usd, tokens }: Amount): string =>
  [usd > 0 && usdText(usd), tokens > 0 && tokensText(tokens)].filter(Boolean).join(" and ");

/**
 * Amount by which a limit must rise so that the call fits, or a part of the limit when that is more. Undefined where a
 * raise is no help.
 */
function raiseFor({ cap, balance, because, call: { most } }: CapRefusedCall): Amount | undefined {
  if (because !== "spent" || !cap.place) return undefined;
  const needed = amountOf(most, most.outputTokens);
  const left = leftOf({ cap, balance });
  const { usd, tokens } = cap.limit;
  const more = (need: number, has: number, limit: number) =>
    need > has ? Math.max(need - has, limit * RAISED_SHARE) : 0;
  return {
    usd: typeof usd === "number" ? more(needed.usd, left.usd, usd) : 0,
    tokens: tokens === undefined ? 0 : Math.ceil(more(needed.tokens, left.tokens, tokens)),
  };
}

async function allow(meter: BudgetMeter, runId: RunId, { ledger, clock }: BudgetPorts): Promise<void> {
  const refused = meter.refusedIn(runId);
  const amount = await missingFor(refused, { ledger });
  if (refused?.cap.place && amount && !isNothing(amount))
    await ledger.raise({ place: refused.cap.place, ...amount, at: clock.now() });
}

/**
 * Amount that a refused call lacks now: somebody may have raised the limit meanwhile, or calls may have ended.
 * Undefined where a raise is no help.
 */
async function missingFor(
  refused: CapRefusedCall | undefined,
  { ledger }: Pick<BudgetPorts, "ledger">,
): Promise<Amount | undefined> {
  const place = refused?.cap.place;
  return refused && place && raiseFor({ ...refused, balance: await ledger.balance(place) });
}

const isNothing = (amount: Amount | undefined): boolean => amount?.usd === 0 && amount.tokens === 0;

async function raise(origin: CallOrigin, wanted: WantedRaise, ports: BudgetPorts): Promise<BudgetState | string> {
  const rooms = await roomsFor(origin, ports);
  const room = roomNamed(rooms, wanted.key);
  if (!room?.cap.place) {
    const known = rooms.map(({ cap }) => lastPart(cap.key)).join(", ");
    return known === "" ? "The config has no budget." : `Which budget? Here are: ${known}.`;
  }
  const amount = amountFor(wanted, room, ports);
  if (typeof amount === "string") return amount;
  const { place } = room.cap;
  await ports.ledger.raise({ place, ...amount, at: ports.clock.now() });
  return stateOf({ ...room, balance: await ports.ledger.balance(place) });
}

function amountFor({ money, tokens }: WantedRaise, { cap }: Room, { config }: BudgetPorts): Amount | string {
  const { usd, tokens: most } = cap.limit;
  if (money !== undefined && typeof usd !== "number") return `${cap.key} has no limit in money.`;
  if (tokens !== undefined && most === undefined) return `${cap.key} has no limit in tokens.`;
  const { currency, usdPerUnit } = config();
  const rate = currency === "USD" ? 1 : (usdPerUnit ?? 1);
  return { usd: (money ?? 0) * rate, tokens: tokens ?? 0 };
}

/** The named limit; without a name, the limit with the least left. */
function roomNamed(rooms: readonly Room[], key: string | undefined): Room | undefined {
  if (key !== undefined) return rooms.find(({ cap }) => lastPart(cap.key) === key || cap.key === key);
  return rooms.toSorted((a, b) => shareTaken(b) - shareTaken(a))[0];
}

const lastPart = (key: string): string => key.slice("budgets.".length);

/** Taken share of a limit, from 0 to 1 and beyond. */
function shareTaken(room: Room): number {
  const { usd, tokens } = stateOf(room);
  const shares = [usd, tokens].map((part) =>
    part && part.limit > 0 ? part.taken / part.limit : Number(part !== undefined),
  );
  return Math.max(...shares);
}

function softOf(model: ModelRef, share: number, rooms: readonly Room[]): Omit<SoftModel, "day"> | undefined {
  const near = rooms.find((room) => shareTaken(room) >= share);
  if (!near) return undefined;
  const { what } = near.cap;
  const name = `${model.provider}/${model.id}`;
  return {
    model,
    text: `💰 Most of the budget for ${what} is used (${takenText(stateOf(near))}), so ${name} answers.`,
  };
}
