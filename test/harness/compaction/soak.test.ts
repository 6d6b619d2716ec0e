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

const look = makeTool("look", async ({ text }) =>
  textResult(text.startsWith("long") ? `${text}: ${"seen ".repeat(1200)}` : "seen"),
);

it.each([
  { window: 6000, turns: 250 },
  { window: 16_000, turns: 160 },
])("fits $window tokens, loses no turn and sends nothing invalid in $turns turns with tools", async (size) => {
  const judge = new SoakJudge({
    window: size.window,
    callOf(n, step) {
      const kind = callIn(n, step);
      return kind && { tool: "look", args: { text: `${kind} ${step}` } };
    },
    answerTo: (n) => `answer to ${n}`,
  });
  fixture.model.answer(({ messages, tools }) => judge.answer({ messages, ...(tools.length > 0 && { tools }) }));
  const settings = { ...settingsFor(fixture.dir), contextTokens: size.window };
  let compactions = 0;
  for (let n = 1; n <= size.turns; n += 1) {
    const run = fixture.start({ settings, turn: userTurn(soakText(n), `t${n}`), tools: [look] });
    expect(await run.stream.done).toMatchObject({ kind: "replied" });
    expect(run.stream.lastText).toBe(`answer to ${n}`);
    await run.settle();
    if ((await run.compactWhenFull())?.kind === "done") compactions += 1;
  }
  expect(judge.faults).toEqual([]);
  expect(compactions).toBeGreaterThan(size.turns / 50);
  const said = (await fixture.transcript()).filter((line) => line.startsWith("user: "));
  expect(said).toEqual(Array.from({ length: size.turns }, (_, at) => `user: ${soakText(at + 1)}`));
  expect(openedByPi(fixture.session.file)[0]).toMatch(/^compactionSummary/);
});
