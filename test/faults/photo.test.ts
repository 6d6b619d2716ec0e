import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { PNG } from "../kit/pictures.ts";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { until } from "../kit/until.ts";
import { isUp, makeHome, type GatewayUnderTest, type Home } from "../kit/gateway/process.ts";
import type { KilledPlatform } from "./platforms/platform.ts";
import { killedDiscord } from "./platforms/discord.ts";
import { killedSignal } from "./platforms/signal.ts";
import { killedSlack } from "./platforms/slack.ts";
import { killedTelegram } from "./platforms/telegram.ts";
import { killedWhatsapp } from "./platforms/whatsapp.ts";

const PATIENCE_MS = 30_000;
const SHOWN = `data:image/png;base64,${Buffer.from(PNG).toString("base64")}`;

function configFor({ id, channel }: KilledPlatform, model: FakeModel): Record<string, unknown> {
  const models = [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096, input: ["text", "image"] }];
  return {
    models: { providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models } } },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    channels: { [id]: { ...channel, enabled: true, dmPolicy: "open", allowFrom: ["*"], streaming: { mode: "off" } } },
  };
}

async function started(home: Home, platform: KilledPlatform): Promise<GatewayUnderTest> {
  const gateway = await home.start({ env: { ...platform.env } });
  await gateway.logged(isUp(platform.id), PATIENCE_MS);
  await until(() => platform.isListening(), "somebody to listen", PATIENCE_MS);
  return gateway;
}

/** Of a chat that it does not know Discord is asked before its message is taken. */
async function greeted(gateway: GatewayUnderTest, platform: KilledPlatform, model: FakeModel): Promise<void> {
  model.answer(() => ({ text: "hi" }));
  platform.say(0, "hello");
  await gateway.logged("delivered", PATIENCE_MS);
}

function rowsIn(home: Home): number {
  const db = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return Number(db.prepare("SELECT count(*) AS n FROM inbox").get()?.["n"]);
  } finally {
    db.close();
  }
}

/** The moments before its turn; nothing that the gateway asks for arrives then, so that the picture is still to be fetched. */
const MOMENTS = {
  committed: (_gateway: GatewayUnderTest, home: Home) =>
    until(() => rowsIn(home) === 2, "the message in the journal", PATIENCE_MS),
  admitted: (gateway: GatewayUnderTest) =>
    gateway.logged(({ msg, inbox }) => msg === "received" && inbox === 2, PATIENCE_MS),
} as const;

describe.concurrent.each([
  ["telegram", killedTelegram],
  ["signal", killedSignal],
  ["slack", killedSlack],
  ["discord", killedDiscord],
  ["whatsapp", killedWhatsapp],
] as const)("a picture on %s, killed before its turn", (_id, open) => {
  test.each(["committed", "admitted"] as const)(
    "%s: the model sees it after the restart",
    async (moment) => {
      const [platform, model] = await Promise.all([open(), startFakeModel()]);
      const home = await makeHome(configFor(platform, model));
      try {
        await platform.prepare?.(home.stateDir);
        const first = await started(home, platform);
        await greeted(first, platform, model);
        platform.deafen();
        platform.show?.("what is on it?", PNG);
        await MOMENTS[moment](first, home);
        await first.kill("SIGKILL");
        expect(model.calls).toHaveLength(1);

        platform.reconnect();
        model.answer(() => ({ text: "a dot" }));
        await started(home, platform);
        await model.called(2, PATIENCE_MS);
        expect(model.calls[1]).toMatchObject({ images: [SHOWN] });
        await until(async () => (await platform.shown(0)).includes("a dot"), "the answer", PATIENCE_MS);
        expect(model.calls).toHaveLength(2);
        const told = await home.run(["why", "#2"]);
        expect(told.stdout).toMatch(/ file .*: fetched, 70 bytes/);
      } finally {
        await home.remove();
        await platform.close();
        await model.close();
      }
    },
    90_000,
  );
});
