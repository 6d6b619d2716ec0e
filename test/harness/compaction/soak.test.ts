import { afterEach, beforeEach, expect, it } from "vitest";
import { callIn, SoakJudge, soakText } from "./soak-judge.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { openedByPi, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { settingsFor } from "../../kit/settings.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const TURNS = 250;
const WINDOW = 6000;
const look = makeTool("look", async ({ text }) =>
  textResult(text.startsWith("long") ? `${text}: ${"seen ".repeat(1200)}` : "seen"),
);

it("fits a window, loses no turn and sends nothing invalid in a long conversation with tools", async () => {
  const judge = new SoakJudge({
    window: WINDOW,
    callOf(n, step) {
      const kind = callIn(n, step);
      return kind && { tool: "look", args: { text: `${kind} ${step}` } };
    },
    answerTo: (n) => `answer to ${n}`,
  });
  fixture.model.answer(({ messages, tools }) => judge.answer({ messages, ...(tools.length > 0 && { tools }) }));
  const settings = { ...settingsFor(fixture.dir), contextTokens: WINDOW };
  let compactions = 0;
  for (let n = 1; n <= TURNS; n += 1) {
    const run = fixture.start({ settings, turn: userTurn(soakText(n), `t${n}`), tools: [look] });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    expect(run.stream.lastText).toBe(`answer to ${n}`);
    await run.settle();
    if ((await run.compactWhenFull())?.kind === "done") compactions += 1;
  }
  expect(judge.faults).toEqual([]);
  expect(compactions).toBeGreaterThan(10);
  const said = (await fixture.transcript()).filter((line) => line.startsWith("user: "));
  expect(said).toEqual(Array.from({ length: TURNS }, (_, at) => `user: ${soakText(at + 1)}`));
  expect(openedByPi(fixture.session.file)[0]).toMatch(/^compactionSummary/);
});
