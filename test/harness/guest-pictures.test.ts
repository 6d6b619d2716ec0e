import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ImageLoader } from "../../src/history/images/load.ts";
import type { Principal } from "../../src/types/run/principal.ts";
import { UNMETERED } from "../../src/types/run/model-meter.ts";
import { modelsAt } from "../kit/models.ts";
import { png } from "../kit/pictures.ts";
import { eventsOf, openRunFixture, userTurn, type RunFixture } from "../kit/run.ts";
import { runFacts } from "../kit/run-facts.ts";

let fixture: RunFixture;
beforeEach(async () => {
  fixture = await openRunFixture();
});
afterEach(() => fixture.close());

const HIDDEN = ["memory/plan.png", "memory-old/plan.png", ".git/plan.png", "sub/.hg/plan.png", "other-name.png"];

/** Pictures in the workspace; the last one is a second name of a note's file. */
function plant(): void {
  for (const name of [...HIDDEN.slice(0, -1), "open.png"]) {
    mkdirSync(dirname(join(fixture.dir, name)), { recursive: true });
    writeFileSync(join(fixture.dir, name), png(4, 4, name.length));
  }
  linkSync(join(fixture.dir, "memory/plan.png"), join(fixture.dir, "other-name.png"));
}

/** What the model is shown when this person names a picture. */
async function shownTo(principal: Principal, name: string): Promise<readonly string[]> {
  const { model, log, session } = fixture;
  const facts = runFacts(`run-${name}`, { sessionId: session.id, principal });
  const models = modelsAt(model.url, UNMETERED, { input: ["text", "image"] });
  const images = new ImageLoader({ log, mediaDir: join(fixture.dir, "media") });
  await eventsOf(fixture.start({ facts, models, images, turn: userTurn(`look at ./${name}`, name) }).stream);
  return model.calls.at(-1)?.images ?? [];
}

const GUESTS: readonly Principal[] = [
  { kind: "sender", id: "guest" },
  { kind: "member", id: "guest" },
  { kind: "automation", id: "job", setUpBy: "guest" },
];

it.each(GUESTS)(
  "a turn of a $kind is shown no picture that guests may not read, by any of its names",
  async (guest) => {
    plant();
    for (const name of HIDDEN) expect([name, await shownTo(guest, name)]).toEqual([name, []]);
    expect(await shownTo(guest, "open.png")).toHaveLength(1);
  },
);

it("an owner's turn is shown all of them", async () => {
  plant();
  for (const name of HIDDEN)
    expect([name, await shownTo({ kind: "owner", id: "me" }, name)]).toEqual([name, [expect.any(String)]]);
});
