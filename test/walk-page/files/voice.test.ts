import { describe, expect, test } from "vitest";
import { hasChromium } from "../../kit/page/chromium.ts";
import { SOON, type Tab } from "../browser.ts";
import { pageWorld } from "../page-world.ts";
import { tone } from "./tone.ts";

const NARROW = { width: 390, height: 780 };
const LONG = "Some words of a long answer. ".repeat(60);

const scroll = ({ page }: Tab, to: "start" | "end"): Promise<unknown> =>
  page.evaluate(`{
    const log = document.querySelector(".log");
    log.scrollTo({ top: ${to === "start" ? "0" : "log.scrollHeight"} });
  }`);

/** Facts of the player that was pressed first. */
const player = ({ page }: Tab, fact: string): Promise<unknown> => page.evaluate(`globalThis.player.${fact}`);

/** Blocks of turns that are not drawn. */
const far = ({ page }: Tab): Promise<number> => page.locator("ol.turns[data-messages]").count();

/** The page records what a node of these statements gives, made in `context`. */
const hearsOnly = (source: string): string => `{
  const context = new AudioContext();
  const into = context.createMediaStreamDestination();
  ${source};
  globalThis.context = context;
  globalThis.into = into;
  navigator.mediaDevices.getUserMedia = () => Promise.resolve(into.stream);
}`;

const OSCILLATOR = "const tone = new OscillatorNode(context); tone.connect(into); tone.start()";

const NO_SOUND = "No sound arrives. Is the right microphone chosen?";

describe.skipIf(!hasChromium)("voice messages on the page of the built gateway", () => {
  const world = pageWorld();

  test("one that plays goes on when it is scrolled away, has its controls when one comes back, and ends with its conversation", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}\n\n${LONG}` }));
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    const voice = { name: "voice.wav", mimeType: "audio/wav", buffer: tone(120) };
    await page.locator("input[type=file]").setInputFiles([voice]);
    await page.getByRole("button", { name: "Remove voice.wav" }).waitFor();
    await tab.say("listen");
    await tab.answered("echo: ");
    for (let at = 0; at < 13; at += 1) {
      await tab.say(`number ${at}.`);
      await tab.answered(`number ${at}.`);
    }
    // The file is in the transcript, not in the page any more.
    await page.reload();
    await tab.connected();
    await page.getByText("number 12.").first().waitFor();
    await expect.poll(() => far(tab), SOON).toBeGreaterThan(0);
    await scroll(tab, "start");
    await page.getByRole("button", { name: "Play voice.wav" }).click();
    await page.locator("li.turn.user audio").waitFor();
    await page.evaluate(`globalThis.player = document.querySelector("li.turn.user audio")`);
    await expect.poll(() => player(tab, "currentTime"), SOON).toBeGreaterThan(0);
    expect(await tab.hasFocus(page.locator("li.turn.user audio"))).toBe(true);
    // What has the focus is drawn wherever it is.
    await tab.box.focus();
    await scroll(tab, "end");
    // The block between is drawn when the browser has said what is seen now.
    await page.getByText("number 8.").first().waitFor();
    const then = Number(await player(tab, "currentTime"));
    await expect.poll(() => player(tab, "currentTime"), SOON).toBeGreaterThan(then);
    expect(await player(tab, "isConnected && !globalThis.player.paused")).toBe(true);
    await scroll(tab, "start");
    expect(await page.locator("li.turn.user audio").first().isVisible()).toBe(true);
    await page.evaluate("globalThis.player.pause()");
    await page.getByText("number 8.").first().waitFor({ state: "detached" });
    await scroll(tab, "end");
    await page.getByText("number 8.").first().waitFor();
    expect(await player(tab, "isConnected && globalThis.player.currentTime > 0")).toBe(true);
    await page.evaluate("globalThis.player.play()");
    await page.evaluate("globalThis.player.currentTime = globalThis.player.duration - 0.1");
    await expect.poll(() => player(tab, "isConnected"), SOON).toBe(false);
    await scroll(tab, "start");
    await page.getByRole("button", { name: "Play voice.wav" }).click();
    await page.locator("li.turn.user audio").waitFor();
    await page.evaluate(`globalThis.player = document.querySelector("li.turn.user audio")`);
    await expect.poll(() => player(tab, "paused"), SOON).toBe(false);
    await page.getByRole("button", { name: "New chat" }).click();
    await expect.poll(() => player(tab, "paused"), SOON).toBe(true);
  });

  test("the level of the microphone is shown while one is recorded, also where nothing may move", async () => {
    const tab = await world.browser.open(await world.home.start(), "", NARROW);
    const { page } = tab;
    await page.evaluate(hearsOnly(OSCILLATOR));
    await page.getByRole("button", { name: "Record a voice message" }).click();
    const meter = page.getByRole("meter", { name: "Input level" });
    await expect.poll(async () => Number(await meter.getAttribute("aria-valuenow")), SOON).toBeGreaterThan(50);
    await tab.shoot("voice-level-narrow");
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.getByText("Sound arrives", { exact: true }).waitFor();
    expect(await meter.isVisible()).toBe(false);
    await tab.shoot("voice-level-still-narrow");
  });

  test("the beep of a microphone is heard", async () => {
    const tab = await world.browser.open(await world.home.start());
    const { page } = tab;
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.getByRole("button", { name: "Record a voice message" }).click();
    await page.getByText("Sound arrives", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("list", { name: "Attached files" }).locator("audio").waitFor();
  });

  test("a person is told that no sound arrives, until it does", async () => {
    const tab = await world.browser.open(await world.home.start(), "", NARROW);
    const { page } = tab;
    await page.evaluate(hearsOnly(""));
    await page.getByRole("button", { name: "Record a voice message" }).click();
    await page.getByText(NO_SOUND).waitFor();
    await tab.shoot("voice-silent-narrow");
    expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
    await page.evaluate(`{ const { context, into } = globalThis; ${OSCILLATOR}; }`);
    await page.getByText(NO_SOUND).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("list", { name: "Attached files" }).locator("audio").waitFor();
  });
});
