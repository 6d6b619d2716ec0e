import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../../src/store/journal/journal.ts";

const STEPS = ["before", "reserving", "reserved", "held", "settling", "settled", "closed"];
const CASES = ["capped", "free"].flatMap((limits) => STEPS.map((step) => [limits, step] as const));
/** What the second call held, and what it took. */
const HELD = 60;
const TAKEN = 12;

test.each(CASES)(
  "with limits %s: killed when %s, the ledger is balanced after the next start",
  async (limits, step) => {
    const dir = mkdtempSync(join(tmpdir(), "oc-killed-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const path = join(dir, "journal.sqlite");
    const child = spawn(process.execPath, [
      "--conditions=source",
      join(import.meta.dirname, "caller.ts"),
      path,
      limits,
      step,
    ]);
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    const journal = await openJournal({ path, bootId: "next" });
    const open = await journal.spend.held();
    const abandoned = await journal.spend.resolveAbandoned();
    expect(abandoned).toBe(open.calls);
    expect(await journal.spend.resolveAbandoned()).toBe(0);
    const [day] = await journal.spend.lines({ scope: "all", since: "2026-11-27", until: "2026-11-27" });
    const states = statesIn(path);
    await journal.close();
    const { settled = 0, unknown = 0, held = 0 } = states;
    expect(held).toBe(0);
    // The first call counts once, and the second one as what it took, as what it held, or not at all before it was held.
    expect(day).toMatchObject({
      calls: settled + unknown,
      input: 8 * settled,
      output: 4 * settled,
      unknown: { tokens: HELD * unknown, usd: expect.closeTo(0.06 * unknown, 9) },
    });
    const counted = TAKEN * settled + HELD * unknown - TAKEN;
    expect(AFTER[step]).toContain(counted);
    // With a limit, a call that was allowed is in the ledger: no provider is asked before.
    if (limits === "capped" && step === "reserved") expect(counted).toBe(HELD);
  },
);

/** Tokens that the second call may count as. */
const AFTER: Readonly<Record<string, readonly number[]>> = {
  before: [0],
  reserving: [0, HELD],
  reserved: [0, HELD],
  held: [HELD],
  settling: [HELD, TAKEN],
  settled: [TAKEN],
  closed: [TAKEN],
};

function statesIn(path: string): Record<string, number> {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT state, count(*) AS calls FROM model_calls GROUP BY state").all();
  db.close();
  return Object.fromEntries(rows.map(({ state, calls }) => [String(state), Number(calls)]));
}
