import { expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";

/** A folder of the system in which nobody makes files, root neither. */
const CLOSED = "/sys/kernel";

test
  .runIf(process.platform === "linux")
  .each([
    [["backup", "key", "--output", `${CLOSED}/key`]],
    [["backup", "create", "--output", `${CLOSED}/backup.tar.gz`]],
    [["backup", "create", "--output", `${CLOSED}/folder/backup.tar.gz`]],
  ])("a place that is closed to this user is told as such, with what to do: %j", async (args) => {
  const { code, err } = await run(args, { OPENCLAW_STATE_DIR: stateDir("{}") });
  expect([code, err]).toEqual([78, expect.stringContaining(`ACCESS_DENIED: This user cannot use ${CLOSED}/`)]);
  expect(err).toMatch(/fix: (Name another place, in which this user may write|Mount it for writing)/);
  expect(err).not.toContain("chown");
});
