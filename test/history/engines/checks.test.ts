import { describe, expect, it } from "vitest";
import { engineChecks } from "../../../src/history/engines/checks.ts";

describe("openclaw doctor", () => {
  const look = (id: string, runs: readonly { receipt: { engine: string; engineDegraded?: string } }[] = []) => {
    const gone = { message: "It is not there.", fix: 'Set it to "legacy".' };
    const selected = { isGateway: true, ...(id === "recording" ? { owner: { plugin: "recorder" } } : { fault: gone }) };
    const [check] = engineChecks(id, {
      latest: async () => runs,
      look: async () => (id === "legacy" ? undefined : selected),
    });
    return check?.run(new AbortController().signal);
  };

  it("says how often the engine was skipped of late, and why the last time", async () => {
    const runs = ["", "boom", "", "slow"].map((why) => ({
      receipt: { engine: "recording", ...(why && { engineDegraded: `passed by: ${why}` }) },
    }));
    const others = [{ receipt: { engine: "legacy" } }, { receipt: { engine: "other", engineDegraded: "theirs" } }];
    const found = await look("recording", [...others, ...runs]);
    expect(found?.filter(({ message }) => !message.includes("store"))).toMatchObject([
      { status: "ok" },
      { status: "warn", message: expect.stringMatching(/In 2 of its last 4 runs .*boom/) },
    ]);
    expect(await look("recording", others)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });

  it("says which engine is used, and what is wrong with it", async () => {
    expect(await look("legacy")).toMatchObject([{ status: "ok" }]);
    const isStore = { status: "ok", message: expect.stringContaining("store") };
    expect(await look("recording")).toMatchObject([
      { status: "ok", message: "recording is active in the running gateway, of the plugin recorder." },
      isStore,
    ]);
    expect(await look("gone")).toMatchObject([{ status: "fail", fix: expect.stringContaining("legacy") }]);
  });
});
