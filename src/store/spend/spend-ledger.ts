import type { Clock } from "../../types/clock.ts";
import type { SpendLedger, SpendPlace } from "../../types/spend/ledger.ts";
import type { Commits } from "../journal/commits.ts";
import type { Statements } from "../journal/sqlite.ts";
import { accountOf } from "./account.ts";
import { leaveAbandoned, OpenHolds, putHold, settleHold } from "./holds.ts";
import { addRaise, balanceOf, raisedAt, readLines, spentAt } from "./sums.ts";

/** `bootId`: holds with another one are those of an earlier process. */
export function createSpendLedger(
  commits: Commits,
  { bootId, clock }: { readonly bootId: string; readonly clock: Pick<Clock, "now"> },
): SpendLedger {
  return {
    hold: (request, decide) =>
      commits.writeAhead((sql) => {
        const account = accountOf(sql, request);
        const decision = decide(account, balancesIn(sql));
        if ("refusal" in decision) return { refusal: decision.refusal, account };
        return { id: putHold(sql, bootId, request, { account, hold: decision.hold }), account };
      }),
    // The write of the answer's plan follows, and shares its commit. If the process is killed before, the hold stays and counts in full.
    settle: (id, call) => commits.writeAhead((sql) => settleHold(sql, id, call), "with others"),
    look: (of, look) => commits.readAhead((sql) => look(accountOf(sql, of), balancesIn(sql))),
    resolveAbandoned: () => commits.write((sql) => leaveAbandoned(sql, bootId, clock.now())),
    raise: ({ place, ...raise }) => commits.write((sql) => addRaise(sql, place, raise)),
    balance: (place) => commits.readAhead((sql) => balancesIn(sql)(place)),
    lines: (ask) => commits.readAhead((sql) => readLines(sql, ask)),
    held: () => commits.readAhead((sql) => new OpenHolds(sql).total),
  };
}

/** Reads the open holds once, and only when a balance is asked for. */
function balancesIn(sql: Statements) {
  let holds: OpenHolds | undefined;
  return (place: SpendPlace) => {
    holds ??= new OpenHolds(sql);
    const held = holds.at(place);
    return balanceOf(spentAt(sql, place), familyToo(sql, holds, place, held), raisedAt(sql, place));
  };
}

/** A session's balance has that of its subagents in it. */
function familyToo(sql: Statements, holds: OpenHolds, place: SpendPlace, held: { tokens: number; usd: number }) {
  if (place.scope !== "session") return held;
  const family = { ...place, scope: "family" as const };
  const [spent, open] = [spentAt(sql, family), holds.at(family)];
  return { tokens: held.tokens + spent.tokens + open.tokens, usd: held.usd + spent.usd + open.usd };
}
