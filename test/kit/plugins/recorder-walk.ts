import { expect } from "vitest";
import type { GatewayUnderTest, Home } from "../gateway/process.ts";
import type { World } from "../gateway/world.ts";
import { RECORDER } from "./recorder.ts";

interface Started {
  readonly home: Home;
  readonly gateway: GatewayUnderTest;
}

/** Installs the recorder with these settings in a new home, and starts its gateway. */
export async function startRecorder(world: World, config: object, more: object = {}): Promise<Started> {
  const home = await world.home(world.config({ plugins: { entries: { recorder: { config } } }, ...more }));
  expect(await home.run(["plugins", "install", RECORDER, "--accept-capabilities"])).toMatchObject({ code: 0 });
  return { home, gateway: await home.start() };
}

/** Writes to the bot, and gives its next message in that chat. */
export async function answerTo({ telegram }: World, text: string, id = 1001): Promise<string> {
  const before = telegram.shown(id).length;
  telegram.say(text, { from: { id, first_name: "Ada" } });
  await telegram.waitFor(() => telegram.shown(id).length > before);
  return telegram.shown(id).at(-1) ?? "";
}
