import { expect } from "vitest";
import { z } from "zod";
import { test } from "../../kit/gateway/world.ts";
import { usedState } from "./used-state.ts";

const answer = z.object({
  growth: z.array(
    z.object({ name: z.string(), path: z.string(), bytes: z.number().nullable(), bound: z.string().nullable() }),
  ),
});

test("each file that a used gateway has belongs to a thing with a bound, which status and doctor show", async ({
  world,
}) => {
  const { home } = await usedState(world);
  const { growth } = answer.parse(JSON.parse((await home.run(["status", "--json", "--all"])).stdout));
  const sizes = new Map(growth.map(({ name, bytes }) => [name, bytes]));
  for (const name of ["journal", "transcripts", "media", "logs", "memory", "workspaces", "small files"])
    expect(sizes.get(name), name).toBeGreaterThan(0);
  // A new file of the gateway needs a row in src/app/growth/things.ts.
  expect(sizes.get("other files")).toBe(0);
  expect(growth.filter(({ bound }) => bound === null)).toEqual([]);

  const quick = answer.parse(JSON.parse((await home.run(["status", "--json"])).stdout));
  expect(quick.growth.map(({ name }) => name)).toEqual(growth.map(({ name }) => name));
  expect(quick.growth.find(({ name }) => name === "workspaces")?.bytes).toBeNull();
  const status = await home.run(["status", "--all"]);
  expect(status.stdout).toMatch(/Disk +[\d.]+ [KMG]iB, most of it \w+/);
  expect(status.stdout).toMatch(/transcripts +[\d.]+ KiB +10\.0 GiB; beyond it the gateway only says so/);
  expect((await home.run(["doctor", "--only", "app.growth"])).stdout).toMatch(
    /Growth +[\d.]+ [KM]iB, most of it|most of it/,
  );
  await home.run(["config", "set", "session.maintenance.maxDiskBytes", "false"]);
  const unbounded = await home.run(["doctor", "--only", "app.growth"]);
  expect(unbounded.stdout).toMatch(/of transcripts, and nothing bounds it \(session\.maintenance\.maxDiskBytes/);
  expect((await home.run(["status"])).stdout).toContain("transcripts without a bound");
});
