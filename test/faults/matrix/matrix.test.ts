import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { killAtEveryStep } from "./matrix.ts";
import { MATRIX, renderMatrix, WHY_NOT, type PlatformId, type Row } from "./matrix-table.ts";
import { killedDiscord } from "../platforms/discord.ts";
import type { KilledPlatform } from "../platforms/platform.ts";
import { killedSignal } from "../platforms/signal.ts";
import { killedSlack } from "../platforms/slack.ts";
import { killedTelegram } from "../platforms/telegram.ts";
import { killedWebchat } from "../platforms/webchat.ts";
import { killedWhatsapp } from "../platforms/whatsapp.ts";

const PLATFORMS: Readonly<Record<PlatformId, () => Promise<KilledPlatform>>> = {
  telegram: killedTelegram,
  slack: killedSlack,
  discord: killedDiscord,
  signal: killedSignal,
  whatsapp: killedWhatsapp,
  webchat: killedWebchat,
};
const IDS = ["telegram", "slack", "discord", "signal", "whatsapp", "webchat"] as const satisfies readonly PlatformId[];
const found: Record<string, Row> = {};

describe.concurrent("killed at every step of a message", () => {
  test.each(IDS)(
    "%s: nothing lost, nothing doubled without its label, order kept",
    async (id) => {
      const row = await killAtEveryStep(await PLATFORMS[id](), MATRIX[id]);
      found[id] = row;
      expect(row).toEqual(MATRIX[id]);
    },
    300_000,
  );
});

afterAll(() => {
  const ids = IDS.filter((id) => found[id]);
  console.log(renderMatrix(Object.fromEntries(ids.map((id) => [id, found[id] ?? MATRIX[id]]))));
});

test("docs/concepts/reliability.md has the same steps, adapters and results", async () => {
  const docs = await readFile(join(import.meta.dirname, "../../../docs/concepts/reliability.md"), "utf8");
  expect(docs).toContain(renderMatrix(MATRIX));
  for (const why of WHY_NOT) expect(docs.replaceAll(/\s+/g, " ")).toContain(why);
});
