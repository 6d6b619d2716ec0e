import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Locator } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasChromium } from "../../kit/page/chromium.ts";
import { TOKEN } from "../../kit/gateway/process.ts";
import { png } from "../../kit/pictures.ts";
import { expectSameAfterReload, SOON, Tab } from "../browser.ts";
import { pageWorld } from "../page-world.ts";
import { twoModels } from "../two-models.ts";
import { tone } from "./tone.ts";

const NARROW = { width: 390, height: 780 };
const SCRIPT = "<script>document.title = 'taken'</script>";
const HTML = `<!doctype html><html><body>${SCRIPT}</body></html>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg">${SCRIPT}</svg>`;

const file = (name: string, mimeType: string, bytes: string | Buffer) => ({
  name,
  mimeType,
  buffer: Buffer.from(bytes),
});

const attach = ({ page }: Tab, files: readonly ReturnType<typeof file>[]) =>
  page.locator("input[type=file]").setInputFiles([...files]);

const chips = async ({ page }: Tab): Promise<readonly string[]> =>
  page.getByRole("list", { name: "Attached files" }).locator(".file-name").allInnerTexts();

/** Drops a file on an element, as a file manager does. */
const drop = ({ page }: Tab, on: string, name: string) =>
  page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["dropped"], ${JSON.stringify(name)}, { type: "text/plain" }));
    const target = document.querySelector(${JSON.stringify(on)});
    for (const type of ["dragenter", "dragover", "drop"])
      target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }`);

const overflow = ({ page }: Tab): Promise<unknown> =>
  page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

/** The bytes that the browser saves when the button is pressed, and the name under which it does. */
async function saved(within: Locator, button: string): Promise<[string, string]> {
  const [download] = await Promise.all([
    within.page().waitForEvent("download"),
    within.getByRole("button", { name: button }).click(),
  ]);
  return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
}

/** A service that writes down what it hears, always the same. */
async function speechService() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push(Buffer.concat(chunks).toString("latin1"));
      response.setHeader("content-type", "application/json").end(JSON.stringify({ text: "buy bread" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { heard, audio: { transcription: { baseUrl: `http://127.0.0.1:${port}/v1`, model: "hears" } } };
}

describe.skipIf(!hasChromium)("files and voice messages on the page of the built gateway", () => {
  const world = pageWorld();
  const open = async (size?: { width: number; height: number }): Promise<Tab> =>
    world.browser.open(await world.home.start(), "", size);

  test("files of any type are chosen, dropped and pasted, removed, sent, and there after a reload", async () => {
    world.model.answer(({ said }, number) => ({ text: `answer ${number} to ${said}` }));
    const tab = await open();
    const { page } = tab;
    await attach(tab, [
      file("dot.png", "image/png", png(40, 30)),
      file("list.csv", "text/csv", "a,b\n1,2\n"),
      file("page.html", "text/html", HTML),
      file("tone.wav", "audio/wav", tone()),
    ]);
    await page.getByRole("button", { name: "Remove tone.wav" }).waitFor();
    await drop(tab, ".log", "dropped.txt");
    await page.getByRole("button", { name: "Remove dropped.txt" }).waitFor();
    await tab.paste(png(2, 2).toString("base64"), "pasted.png");
    await page.getByRole("button", { name: "Remove pasted.png" }).waitFor();
    await page.getByText("CSV · 1 KB").waitFor();
    await tab.shoot("files-attached");
    await page.getByRole("button", { name: "Remove dropped.txt" }).click();
    await expect.poll(() => chips(tab), SOON).toEqual(["dot.png", "list.csv", "page.html", "tone.wav", "pasted.png"]);
    await tab.say("look at these");
    await tab.answered(/answer 1 to .*look at these/s);
    expect(world.model.calls[0]?.images).toHaveLength(2);
    expect(world.model.calls[0]?.said).toMatch(/list\.csv \(text\/csv\)/);
    await expect.poll(() => chips(tab), SOON).toEqual([]);
    const said = page.locator("li.turn.user").last();
    await expect.poll(() => said.locator("img.picture").count(), SOON).toBe(2);
    await expect
      .poll(() => said.locator(".file-name").allInnerTexts(), SOON)
      .toEqual(["list.csv", "page.html", "tone.wav"]);
    await page.reload();
    await tab.connected();
    await expect
      .poll(() => said.locator(".file-name").allInnerTexts(), SOON)
      .toEqual(["list.csv", "page.html", "tone.wav"]);
    await expect.poll(() => said.locator("img.picture").count(), SOON).toBe(2);
    expect(await saved(said, "Save list.csv")).toEqual(["list.csv", "a,b\n1,2\n"]);
    expect(await saved(said, "Save page.html")).toEqual(["page.html", HTML]);
    await page.getByRole("button", { name: "Play tone.wav" }).click();
    await said.locator("audio").waitFor();
    await expect.poll(() => page.evaluate("document.querySelector('li.turn.user audio').duration"), SOON).toBe(1);
    await tab.shoot("files-sent");
    await page.getByRole("button", { name: "Answer again" }).click();
    await tab.answered(/answer 2 to .*look at these/s);
    expect(world.model.calls[1]?.images).toHaveLength(2);
    expect(world.model.calls[1]?.said).toMatch(/list\.csv \(text\/csv\)/);
    await expect
      .poll(() => said.locator(".file-name").allInnerTexts(), SOON)
      .toEqual(["list.csv", "page.html", "tone.wav"]);
    await tab.idle();
    await page.setViewportSize(NARROW);
    await tab.shoot("files-sent-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
  });

  test("what is too large, empty or too much is refused before it is sent; what waits for the gateway goes once", async () => {
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const gateway = await world.home.start();
    const tab = await world.browser.open(gateway, "", NARROW);
    const { page } = tab;
    await attach(tab, [
      file("film.mov", "video/quicktime", Buffer.alloc(17 * 1_048_576)),
      file("empty.txt", "text/plain", ""),
      file("drawing.svg", "image/svg+xml", Buffer.alloc(9 * 1_048_576, "<svg ")),
    ]);
    await page.getByText("film.mov is 17.0 MB; the gateway accepts files up to 16.0 MB.").waitFor();
    await page.getByText("empty.txt is empty or a folder").waitFor();
    await page.getByText("drawing.svg is 9.0 MB; the gateway accepts images up to 8.0 MB.").waitFor();
    await attach(tab, [
      file("one.bin", "application/octet-stream", Buffer.alloc(12 * 1_048_576, 1)),
      file("two.bin", "application/octet-stream", Buffer.alloc(12 * 1_048_576, 1)),
    ]);
    await page.getByText("two.bin does not fit: ").waitFor();
    await expect.poll(() => chips(tab), SOON).toEqual(["one.bin"]);
    await tab.shoot("files-refused-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: "Remove one.bin" }).click();
    await expect.poll(() => page.evaluate("navigator.serviceWorker.controller !== null"), SOON).toBe(true);
    await gateway.kill("SIGTERM");
    await attach(tab, [file("late.txt", "text/plain", "later")]);
    await page.getByRole("button", { name: "Remove late.txt" }).waitFor();
    await tab.say("when you are back");
    await page.getByText("Will be sent when the gateway is back").waitFor();
    await page.locator("li.turn.user .file-name").getByText("late.txt").waitFor();
    await page.reload();
    await page.getByText("Will be sent when the gateway is back").waitFor();
    await page.locator("li.turn.user .file-name").getByText("late.txt").waitFor();
    // A duplicate of the tab has its session storage; the message stays with the first one.
    const opened = page.context().waitForEvent("page");
    await page.evaluate("void open(location.href)");
    const duplicate = new Tab(await opened);
    await duplicate.page.getByText("Messages that you send wait here").waitFor();
    expect(await duplicate.turns()).toEqual([]);
    await world.home.writeConfig({
      ...twoModels(world.model),
      gateway: { port: gateway.port, auth: { token: TOKEN } },
    });
    await world.home.start();
    await tab.answered(/echo: .*when you are back/s);
    expect(world.model.calls).toHaveLength(1);
    for (const each of [tab, duplicate]) {
      const names = each.page.locator("li.turn.user .file-name");
      await expect.poll(() => names.allInnerTexts(), SOON).toEqual(["late.txt"]);
    }
  });

  test("unsent files stay with their conversation over a reload", async () => {
    world.model.answer(() => ({ text: "seen" }));
    const tab = await open();
    const { page } = tab;
    await attach(tab, [file("mine.txt", "text/plain", "mine"), file("dot.png", "image/png", png(4, 4))]);
    await expect.poll(() => chips(tab), SOON).toEqual(["mine.txt", "dot.png"]);
    await tab.box.fill("not yet");
    await page.getByRole("button", { name: "New chat" }).click();
    await expect.poll(() => chips(tab), SOON).toEqual([]);
    await attach(tab, [file("other.txt", "text/plain", "other")]);
    await expect.poll(() => chips(tab), SOON).toEqual(["other.txt"]);
    await page.reload();
    await tab.connected();
    await expect.poll(() => chips(tab), SOON).toEqual(["other.txt"]);
    await page
      .getByRole("button", { name: /Main chat/ })
      .first()
      .click();
    await expect.poll(() => chips(tab), SOON).toEqual(["mine.txt", "dot.png"]);
    expect(await tab.box.inputValue()).toBe("not yet");
    await tab.box.press("Enter");
    await tab.answered("seen");
    await expect.poll(() => chips(tab), SOON).toEqual([]);
    await page.reload();
    await tab.connected();
    await page.locator("li.turn.user .file-name").getByText("mine.txt").waitFor();
    expect(await chips(tab)).toEqual([]);
  });

  test("the files of an answer are shown, played and saved, and none of them runs a program", async () => {
    const names = ["dot.png", "tone.wav", "page.html", "image.svg"];
    world.model.answer(() => ({ text: `Here.\n${names.map((name) => `[[media:${name}]]`).join("\n")}` }));
    const gateway = await world.home.start();
    const workspace = path.join(world.home.stateDir, "workspace");
    mkdirSync(workspace, { recursive: true });
    const contents = [png(60, 40), tone(), HTML, SVG];
    for (const [at, name] of names.entries()) writeFileSync(path.join(workspace, name), contents[at] ?? "");
    const tab = await world.browser.open(gateway, "", NARROW);
    const { page } = tab;
    await attach(tab, [
      file("page.html", "text/html", HTML),
      file("image.svg", "image/svg+xml", SVG),
      file("tone.wav", "audio/wav", tone()),
    ]);
    await page.getByRole("button", { name: "Remove tone.wav" }).waitFor();
    await tab.say("bring them");
    const answer = page.locator("li.turn.assistant").last();
    await expect.poll(() => answer.locator("img.picture").count(), SOON).toBe(2);
    await expect.poll(() => answer.locator(".file-name").allInnerTexts(), SOON).toEqual(["tone.wav", "page.html"]);
    await answer.getByRole("button", { name: "Play tone.wav" }).click();
    await answer.locator("audio").waitFor();
    expect(await saved(answer, "Save page.html")).toEqual(["page.html", HTML]);
    await tab.shoot("files-answer-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    await tab.shoot("files-answer");
    await expectSameAfterReload(tab);
    const addresses = await addressesOf(gateway.port, tab);
    expect(addresses).toHaveLength(5);
    for (const address of addresses) {
      const other = await page.context().newPage();
      await other.goto(address).catch((error: unknown) => {
        if (!String(error).includes("Download is starting")) throw error;
      });
      expect(await other.title()).not.toBe("taken");
      await other.close();
    }
  });

  test("a voice message is recorded with the keyboard, heard before it is sent, and written down by the gateway", async () => {
    const { heard, audio } = await speechService();
    await world.home.writeConfig({ ...twoModels(world.model), audio });
    world.model.answer(({ said }) => ({ text: `echo: ${said}` }));
    const tab = await open(NARROW);
    const { page } = tab;
    const button = page.getByRole("button", { name: "Record a voice message" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("timer").getByText("0:01").waitFor();
    expect(await tab.hasFocus(page.getByRole("button", { name: "Done" }))).toBe(true);
    await tab.shoot("voice-recording-narrow");
    await page.keyboard.press("Escape");
    await page.getByRole("timer").waitFor({ state: "detached" });
    expect(await tab.hasFocus(button)).toBe(true);
    expect(await chips(tab)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("timer").getByText("0:02").waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => chips(tab), SOON).toEqual([expect.stringMatching(/^Voice message\./)]);
    await page.getByRole("list", { name: "Attached files" }).locator("audio").waitFor();
    await tab.shoot("voice-attached-narrow");
    expect(await overflow(tab)).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    await tab.shoot("voice-attached");
    await tab.box.press("Enter");
    await tab.answered(/echo: .*\[Voice message, \d s\] buy bread/s);
    expect(heard).toHaveLength(1);
    expect(heard[0]).toMatch(/content-type: audio\/(webm|mp4)/i);
    const said = page.locator("li.turn.user").last();
    await said.getByText("buy bread").waitFor();
    await page.reload();
    await tab.connected();
    await said.getByRole("button", { name: /^Play Voice message/ }).click();
    await said.locator("audio").waitFor();
    await tab.shoot("voice-sent");
  });

  test.each([
    ["NotAllowedError", "Allow it in the site's settings"],
    ["NotFoundError", "No microphone was found. Connect one"],
    ["NotReadableError", "another program may use it"],
  ])("a microphone that fails with %s says what to do", async (name, told) => {
    const tab = await open();
    const { page } = tab;
    await page.evaluate(`navigator.mediaDevices.getUserMedia = () =>
      Promise.reject(new DOMException("no", ${JSON.stringify(name)}))`);
    await page.getByRole("button", { name: "Record a voice message" }).click();
    await page.getByText(told).waitFor();
    await page.getByRole("timer").waitFor({ state: "detached" });
    await tab.say("by hand");
    await tab.page.locator("li.turn.user").getByText("by hand").waitFor();
  });
});

/** Addresses that open the files of the conversation without a header, as a link would. */
async function addressesOf(port: number, { page }: Tab): Promise<readonly string[]> {
  const ids = await page.evaluate(`new Promise((resolve, reject) => {
    const socket = new WebSocket("ws://127.0.0.1:${port}/");
    const ask = (id, method, params) => socket.send(JSON.stringify({ type: "req", id, method, params }));
    const client = { id: "gateway-client", version: "1", platform: "web", mode: "ui" };
    const connect = { minProtocol: 4, maxProtocol: 4, client, role: "operator", scopes: ["operator.read"], auth: { token: "${TOKEN}" } };
    socket.onerror = reject;
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.event === "connect.challenge") ask("1", "connect", connect);
      if (frame.id === "1") ask("2", "chat.history", { sessionKey: "main" });
      if (frame.id !== "2") return;
      socket.close();
      const { messages } = frame.payload;
      const sent = messages.flatMap(({ __openclaw }) => __openclaw.media ?? []);
      const brought = messages.flatMap(({ content }) => content).flatMap((part) => part.attachment ?? []);
      resolve([...sent, ...brought].map(({ url }) => url));
    };
  })`);
  if (!Array.isArray(ids)) throw new Error("the history has no files");
  return Promise.all(
    ids.map(async (url: string) => {
      const address = `http://127.0.0.1:${port}/__openclaw__/assistant-media?source=${encodeURIComponent(url)}`;
      const headers = { authorization: `Bearer ${TOKEN}` };
      const facts = (await (await fetch(`${address}&meta=1`, { headers })).json()) as { mediaTicket: string };
      return `${address}&mediaTicket=${encodeURIComponent(facts.mediaTicket)}`;
    }),
  );
}
