import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";
import { test } from "../../kit/gateway/world.ts";

const skill = (text: string): string => `---\nname: tides\ndescription: Says when the tide is high.\n---\n${text}\n`;

describe("a skill that is installed while the gateway runs", () => {
  test("is offered from the next turn on, read by the model, and updated in the same way", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start({ commands: { ownerAllowFrom: ["1001"] } });
    world.model.answer((call) => {
      const [, location] = /<name>tides<\/name>[^]*?<location>(.*?)<\/location>/.exec(call.system) ?? [];
      if (location === undefined) return { text: "told: I know no tides" };
      return call.isAfterTool ? { text: `told: ${call.toolText}` } : { tool: "read", args: { path: location } };
    });
    world.telegram.say("When is it high?");
    await world.told("I know no tides");

    const source = join(home.stateDir, "..", "tides-source");
    mkdirSync(source);
    writeFileSync(join(source, "SKILL.md"), skill("Say that it is high at noon."));
    const installed = await home.run(["skills", "install", source, "--yes"]);
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining("from the next turn on") });
    world.telegram.say("And now?");
    await world.told("high at noon");
    const { stdout } = await home.run(["skills", "list"]);
    expect(stdout).toMatch(/^tides +ready +managed/m);

    writeFileSync(join(source, "SKILL.md"), skill("Say that it is high at night."));
    expect((await home.run(["skills", "update", "--all", "--yes"])).stdout).toContain("Updated skill: tides");
    world.telegram.say("And now again?");
    await world.told("high at night");
  });
});
