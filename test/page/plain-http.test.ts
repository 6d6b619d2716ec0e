import { chromium } from "playwright-core";
import { expect, test } from "vitest";
import { ARGS, buildPage } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";
import { FakeGateway, TOKEN } from "./fake-gateway.ts";

// A browser offers less to pages without https of other machines: no workers, locks, clipboard and random UUIDs.
test.skipIf(!hasChromium)("the page works at the address of another machine without https", async () => {
  const gateway = new FakeGateway(await buildPage());
  const port = await gateway.listen();
  const args = [...ARGS, "--host-resolver-rules=MAP gateway.test 127.0.0.1"];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args, headless: true });
  try {
    const page = await browser.newPage();
    await page.goto(`http://gateway.test:${port}/#token=${TOKEN}`);
    await page.getByRole("status").getByText("Connected").waitFor();
    expect(await page.evaluate("isSecureContext")).toBe(false);
    const attached = { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") };
    await page.locator("input[type=file]").setInputFiles([attached]);
    await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill("hello");
    await page.keyboard.press("Enter");
    await expect.poll(() => [...gateway.sent.values()]).toEqual(["hello"]);
    await page.getByRole("button", { name: "New chat" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("session")).toMatch(/^webchat:default:[\da-f-]{36}$/);
    expect(await page.getByRole("alert").count()).toBe(0);
  } finally {
    await browser.close();
    await gateway.close();
  }
});

test.skipIf(!hasChromium)(
  "the page says what may lack where it gets no connection at the address of another machine",
  async () => {
    const gateway = new FakeGateway(await buildPage());
    gateway.refusesSockets = true;
    const port = await gateway.listen();
    const args = [...ARGS, "--host-resolver-rules=MAP gateway.test 127.0.0.1"];
    const browser = await chromium.launch({ executablePath: CHROMIUM, args, headless: true });
    try {
      const page = await browser.newPage();
      await page.goto(`http://gateway.test:${port}/#token=${TOKEN}`);
      await page
        .getByText(`gateway.controlUi.allowedOrigins in its configuration may lack http://gateway.test:${port}`)
        .waitFor();
      await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`);
      await page.getByText("The gateway cannot be reached.").waitFor();
      expect(await page.getByText("allowedOrigins").count()).toBe(0);
      gateway.refusesSockets = false;
      await page.getByRole("status").getByText("Connected").waitFor();
    } finally {
      await browser.close();
      await gateway.close();
    }
  },
);
