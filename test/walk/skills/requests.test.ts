import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

function addSkill(home: Home, name: string, more = ""): string {
  const folder = join(home.stateDir, "workspace", "skills", name.replace("/", "-"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "SKILL.md"), `---\nname: ${name}\ndescription: Says ${name}.\n${more}---\nSay it.\n`);
  return join(folder, "SKILL.md");
}

describe("a skill that a person requests", () => {
  test("is in the platform's menu and in /skill, and its command gives the agent the request", async ({
    world,
    expect,
  }) => {
    const home = await world.home();
    const location = addSkill(home, "Tide-Table", "disable-model-invocation: true\n");
    addSkill(home, "hidden", "user-invocable: false\n");
    const review = addSkill(home, "Docs/Review");
    await home.start();
    await expect.poll(() => world.telegram.menu.times).toBe(1);
    const names = JSON.stringify(world.telegram.menu.commands);
    expect(names).toContain('"tide_table"');
    expect(names).toContain('"docs_review"');
    expect(names).not.toContain('"hidden"');

    world.telegram.say("/skill");
    const list = await world.told("Skills:");
    expect(list.text).toContain("Tide-Table – Says Tide-Table.");
    expect(list.text).not.toContain("hidden");
    expect(world.model.calls).toEqual([]);

    world.telegram.say("/tide_table for tomorrow");
    await world.told(`read ${location}`);
    world.telegram.say("/skill tide-table");
    await world.model.called(2);
    world.telegram.say("/tide-table at noon");
    await world.told("at noon");
    const said = world.model.calls.map((call) => call.said);
    expect(said[0]).toContain(
      `Use the skill "Tide-Table" for this: read ${location} and do what it says.\n\nfor tomorrow`,
    );
    expect(said[1]).toContain(location);
    expect(said[2]).toContain(`read ${location} and do what it says.\n\nat noon`);
    // The model does not know it by itself.
    expect(world.model.calls[0]?.system).not.toContain("Tide-Table");
    expect(world.model.calls[0]?.system).toContain("<name>hidden</name>");

    world.telegram.say("/skill docs/review of the guide");
    await world.told(`read ${review}`);
    world.telegram.say("/docs_review of the index");
    await world.told("of the index");

    world.telegram.say("/skill nothing");
    await world.told("I have no skill");
    world.telegram.say("/help");
    const help = await world.told("Commands:");
    expect(help.text).toContain("/skill – ");
    expect(help.text).not.toContain("tide_table");
  });
});
