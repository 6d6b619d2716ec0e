import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const GOOD = "sk-good-key-of-the-models-view-1234567890";
const BAD = "sk-proj-bad-key-of-the-models-view-0987654321";
const NARROW = { width: 390, height: 780 };

describe.skipIf(!hasChromium)("the view of models and keys of the built gateway", () => {
  const world = pageWorld();
  const config = async (): Promise<unknown> => JSON.parse(await readFile(world.home.configPath, "utf8"));
  const row = ({ page }: Tab, name: string) => page.getByRole("listitem", { name, exact: true });
  const press = ({ page }: Tab, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
  const visit = async ({ page }: Tab): Promise<void> => {
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
  };
  const isWide = ({ page }: Tab) => page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

  /** Keys of OpenAI that the model takes or refuses, beside the models of the other provider. */
  async function withKeys(keys: Readonly<Record<string, string>>): Promise<void> {
    const { model, home } = world;
    const { models, ...others } = twoModels(model) as { models: { providers: object } };
    const openai = { baseUrl: model.url, api: "openai-completions", models: [{ id: "gpt-4.1" }] };
    const agents = { defaults: { model: { primary: "openai/gpt-4.1" }, models: { "fake/plain": { alias: "quick" } } } };
    await home.writeConfig({ ...others, models: { providers: { ...models.providers, openai } }, agents });
    const profiles = Object.entries(keys).map(([name, key]) => [
      `openai:${name}`,
      { type: "api_key", provider: "openai", key },
    ]);
    await mkdir(join(home.stateDir, "credentials"), { mode: 0o700 });
    const file = join(home.stateDir, "credentials", "auth-profiles.json");
    await writeFile(file, JSON.stringify({ version: 1, profiles: Object.fromEntries(profiles) }), { mode: 0o600 });
  }

  test("the order of the models is changed, and the next message follows it", async () => {
    const tab = await world.browser.open(await world.home.start());
    await visit(tab);
    await row(tab, "fake/seeing").getByText("asked first").waitFor();
    await press(tab, "Test it: fake/seeing");
    await row(tab, "fake/seeing")
      .getByText(/^It answered after /)
      .waitFor();
    await press(tab, "Add as a fallback: fake/plain");
    await row(tab, "fake/plain").getByText("fallback 1").waitFor();
    await tab.shoot("models");
    await press(tab, "Up: fake/plain");
    await row(tab, "fake/plain").getByText("asked first").waitFor();
    const model = { primary: "fake/plain", fallbacks: ["fake/seeing"] };
    expect(await config()).toMatchObject({ agents: { defaults: { model } } });
    await press(tab, "Take out: fake/seeing");
    await row(tab, "fake/seeing").waitFor({ state: "detached" });
    await tab.page.goBack();
    await tab.say("Who answers?");
    await tab.answered("Who answers?");
    expect(world.model.calls.at(-1)?.model).toBe("plain");
  });

  test("a key that was refused says so until a test of it is answered; keys are ordered and removed", async () => {
    await withKeys({ default: BAD, work: GOOD });
    let taken = [GOOD, "x"];
    world.model.answer(({ key = "", said }) =>
      taken.includes(key) ? { text: `echo: ${said}` } : { status: 401, message: "Incorrect API key provided" },
    );
    const tab = await world.browser.open(await world.home.start());
    await tab.say("Good morning.");
    await tab.answered(/echo:/);
    await visit(tab);
    const key = row(tab, "openai:default");
    await key.getByText(/^openai\/gpt-4\.1: the provider refused the key, so it is not asked until /).waitFor();
    await row(tab, "openai:work")
      .getByText(/^good · key · stored/)
      .waitFor();
    await press(tab, "Test it: openai:default");
    await key.getByText(/Incorrect API key/).waitFor();
    await tab.shoot("models-keys");
    taken = [GOOD, BAD, "x"];
    await press(tab, "Test it: openai:default");
    await key.getByText(/^It answered after /).waitFor();
    await key.getByText(/^good · key · stored/).waitFor();
    const names = async (): Promise<readonly (string | null)[]> => {
      const rows = tab.page.getByRole("region", { name: "Keys of openai" }).getByRole("listitem");
      return Promise.all((await rows.all()).map((one) => one.getAttribute("aria-label")));
    };
    const [first, second] = await names();
    await press(tab, `Up: ${second ?? "nothing"}`);
    await tab.page.getByText("They are asked in this order.").waitFor();
    await expect.poll(names, SOON).toEqual([second, first]);
    expect(await config()).toMatchObject({ auth: { order: { openai: [second, first] } } });
    await key.getByRole("button", { name: "Remove" }).click();
    await key.getByRole("button", { name: "Remove the key" }).click();
    await key.waitFor({ state: "detached" });
    await expect.poll(config, SOON).toMatchObject({ auth: { order: { openai: ["openai:work"] } } });
    expect(await readFile(join(world.home.stateDir, "credentials", "auth-profiles.json"), "utf8")).not.toContain(BAD);
    const html = await tab.page.content();
    expect(html).not.toContain(GOOD);
    expect(html).not.toContain(BAD);
  });

  test("a key is added beside the other one on a phone, after it was tried, and the model stays", async () => {
    await withKeys({ default: GOOD });
    let held = Promise.resolve();
    world.model.answer(async ({ key, said }) => {
      await held;
      return key === BAD ? { status: 401, message: "Incorrect API key provided" } : { text: `echo: ${said}` };
    });
    const tab = await world.browser.open(await world.home.start(), "?view=models", NARROW);
    const { page } = tab;
    await row(tab, "openai:default").waitFor();
    await tab.shoot("models-phone");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
    const before = await config();
    await page.emulateMedia({ colorScheme: "dark" });
    await press(tab, "Add a model or a key");
    const dialog = page.getByRole("dialog", { name: "Model", exact: true });
    await dialog.getByLabel("Provider").selectOption("Groq");
    await dialog.getByLabel("Key", { exact: true }).fill(BAD);
    await dialog.getByText("A key of OpenAI, so that provider was chosen.").waitFor();
    expect(await dialog.getByLabel("Provider").inputValue()).toBe("openai-api-key");
    await dialog.getByLabel("Name of the key (optional)").fill("spare");
    await dialog.getByLabel("Model", { exact: true }).fill("gpt-4.1");
    await dialog.getByLabel("Use").selectOption("Only store its key");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Test and save" }).click();
    await dialog.getByText("OpenAI refuses this key.").waitFor();
    await tab.shoot("models-phone-dialog");
    expect(await isWide(tab)).toBeLessThanOrEqual(0);
    const slow = Promise.withResolvers<void>();
    held = slow.promise;
    await dialog.getByRole("button", { name: "Test and save" }).click();
    await dialog.getByText("Waiting for the model's answer …").waitFor();
    await dialog.getByLabel("Provider").selectOption("Groq");
    slow.resolve();
    await dialog.getByRole("alert").filter({ hasText: "OpenAI: OpenAI refuses this key." }).waitFor();
    // Chosen by hand, another provider begins with empty fields, also after a key has told one.
    await dialog.getByLabel("Provider").selectOption("Groq");
    await dialog.getByLabel("Key", { exact: true }).fill(BAD);
    await dialog.getByLabel("Provider").selectOption("Groq");
    expect(await dialog.getByLabel("Key", { exact: true }).inputValue()).toBe("");
    await dialog.getByLabel("Provider").selectOption("OpenAI");
    await dialog.getByLabel("Name of the key (optional)").fill("spare");
    await dialog.getByLabel("Model", { exact: true }).fill("gpt-4.1");
    await dialog.getByLabel("Use").selectOption("Only store its key");
    await dialog.getByLabel("Key", { exact: true }).fill(`${GOOD}-2`);
    await dialog.getByRole("button", { name: "Test and save" }).click();
    await dialog.getByText("openai/gpt-4.1 answered. Its key is stored").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await row(tab, "openai:spare")
      .getByText(/^good · key · stored/)
      .waitFor();
    await tab.shoot("models-phone-dark");
    expect(await config()).toEqual(before);
  });
});
