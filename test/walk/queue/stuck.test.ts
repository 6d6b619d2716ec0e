import { describe } from "vitest";
import { PATIENCE_MS } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

describe("a turn that makes no progress", () => {
  test("is reported, ended by the limits of `diagnostics`, and the next message is answered", async ({
    world,
    expect,
  }) => {
    const { gateway } = await world.start({
      diagnostics: { stuckSessionWarnMs: 1000, stuckSessionAbortMs: 3000 },
      messages: { queue: { mode: "followup" } },
    });
    world.telegram.file("photo-1", new Uint8Array([1]));
    world.telegram.fail("getFile", "hang", 99);
    const photo = [{ file_id: "photo-1", file_unique_id: "u1", width: 10, height: 10, file_size: 10 }];
    world.telegram.say("", { more: { photo, caption: "what is on it?" } });
    await gateway.logged(
      ({ msg, doing }) => msg === "session makes no progress" && doing === "the stage prepare",
      PATIENCE_MS,
    );
    world.telegram.say("and now?");
    await gateway.logged(({ msg }) => msg === "stuck turn is ended", PATIENCE_MS);
    await world.told("echo");
    expect(world.telegram.shown(1001)[0]).toContain("This took longer than a run may take, so I stopped it.");
  });
});
