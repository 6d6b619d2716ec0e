import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { hasChromium } from "../kit/page/chromium.ts";
import { SOON, type Tab } from "./browser.ts";
import { pageWorld } from "./page-world.ts";
import { twoModels } from "./two-models.ts";

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 780 };
const SIZES = [
  ["wide", WIDE],
  ["narrow", NARROW],
] as const;

describe.skipIf(!hasChromium)("the views of skills and plugins of the page", () => {
  const world = pageWorld();

  const writeSkill = (name: string, metadata: object): void => {
    const folder = join(world.home.stateDir, "skills", name);
    mkdirSync(folder, { recursive: true });
    const head = `name: ${name}\ndescription: About ${name}.\nmetadata: ${JSON.stringify({ openclaw: metadata })}`;
    writeFileSync(join(folder, "SKILL.md"), `---\n${head}\n---\nText.\n`);
  };
  const group = ({ page }: Tab, title: string, name: string) =>
    page.getByRole("region", { name: title, exact: true }).getByRole("listitem", { name, exact: true });

  test.each(SIZES)("a skill says what it lacks, takes its key and is switched off (%s)", async (size, viewport) => {
    writeSkill("tides", { primaryEnv: "TIDES_KEY", requires: { env: ["TIDES_KEY"] } });
    writeSkill("brewing", {
      requires: { bins: ["no-such-program"] },
      install: [
        { id: "kettle", kind: "brew", formula: "kettle", bins: ["no-such-program"], label: "Install the kettle" },
      ],
    });
    const tab = await world.browser.open(await world.home.start(), "?view=skills", viewport);
    await group(tab, "Lack something", "brewing").getByText("brew install kettle").waitFor();
    const lacking = group(tab, "Lack something", "tides");
    await lacking.getByText("It lacks keys: TIDES_KEY.").waitFor();
    await lacking.getByRole("button", { name: "Keys of tides" }).click();
    await lacking.getByLabel("TIDES_KEY").fill(" k-tides-1 ");
    await tab.shoot(`skills-${size}`);
    await tab.page.keyboard.press("Enter");
    const used = group(tab, "In use", "tides");
    await used.waitFor();
    const written = () => entries.parse(JSON.parse(readFileSync(world.home.configPath, "utf8"))).skills.entries;
    expect(written()["tides"]).toMatchObject({ apiKey: "k-tides-1" });
    await used.getByRole("button", { name: "Keys of tides" }).click();
    await used.getByRole("button", { name: "Remove what is stored" }).click();
    await used.getByRole("button", { name: "Remove the stored keys" }).click();
    await lacking.waitFor();
    expect(written()["tides"]).not.toHaveProperty("apiKey");
    await lacking.getByRole("button", { name: "Switch off: tides" }).click();
    await group(tab, "Switched off", "tides").getByRole("button", { name: "Switch on: tides" }).click();
    await lacking.waitFor();
    await tab.page.getByLabel("Words of a skill").fill("About brewing");
    await lacking.waitFor({ state: "detached" });
    await group(tab, "Lack something", "brewing").waitFor();
  });

  test("a search in the registry gives the command that installs, and says when nothing answers", async () => {
    const row = { slug: "tides", displayName: "Tides", summary: "When the sea comes.", ownerHandle: "ann" };
    const server = createServer((request, response) => {
      const isFound = request.url?.includes("q=sea") === true;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ results: isFound ? [row] : [] }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = z.looseObject({ port: z.number() }).parse(server.address());
    try {
      const env = { OPENCLAW_CLAWHUB_URL: `http://127.0.0.1:${port}` };
      const tab = await world.browser.open(await world.home.start({ env }), "?view=skills", NARROW);
      const more = tab.page.getByRole("region", { name: "More skills" });
      const search = async (words: string) => {
        await more.getByLabel("Search the registry").fill(words);
        await tab.page.keyboard.press("Enter");
      };
      await search("desert");
      await more.getByText("The registry has none for these words.").waitFor();
      await search("sea");
      const found = more.getByRole("listitem", { name: "Tides" });
      await found.getByText("openclaw skills install @ann/tides").waitFor();
      await found.scrollIntoViewIfNeeded();
      await tab.shoot("skills-found");
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await search("sea");
      await more.getByRole("alert").waitFor();
      await expect.poll(() => found.count(), SOON).toBe(0);
    } finally {
      server.close();
    }
  });

  test.each(SIZES)(
    "a plugin shows what it contributes, or why it fails, and is switched (%s)",
    async (size, viewport) => {
      const folder = join(world.home.stateDir, "extensions");
      writePlugin(folder, { id: "notebook", manifest: { contracts: { tools: ["note_count"] } }, code: NOTEBOOK });
      writePlugin(folder, { id: "broken", code: `throw new Error("the pages are wet");` });
      const entries = { notebook: { enabled: true }, broken: { enabled: true } };
      await world.home.writeConfig(twoModels(world.model, { plugins: { entries } }));
      const tab = await world.browser.open(await world.home.start(), "?view=plugins", viewport);
      const notebook = group(tab, "Installed", "notebook");
      await notebook.getByText("tools: note_count").waitFor();
      await notebook.getByText("commands of the chat: notes").waitFor();
      const broken = group(tab, "Installed", "broken");
      await broken.getByText(/the pages are wet/).waitFor();
      await tab.shoot(`plugins-${size}`);
      await notebook.getByRole("button", { name: "Switch off: notebook" }).click();
      await notebook.getByText(/switched off/).waitFor();
      await notebook.getByText("openclaw plugins uninstall notebook").waitFor();
      await notebook.getByRole("button", { name: "Switch on: notebook" }).click();
      await notebook.getByText("tools: note_count").waitFor();
      await broken.getByRole("button", { name: "Try again: broken" }).click();
      await broken.getByText(/the pages are wet/).waitFor();
      const memory = group(tab, "Come with the gateway", "Memory");
      await memory.getByRole("button", { name: "Switch off: Memory" }).waitFor();
      for (const part of ["LLM task", "Web chat"])
        expect(await group(tab, "Come with the gateway", part).getByRole("button").count()).toBe(0);
      await group(tab, "Come with the gateway", "Telegram")
        .getByRole("button", { name: /^Show the channels/ })
        .click();
      await tab.page.getByRole("heading", { level: 1, name: "Channels" }).waitFor();
    },
  );
});

const entries = z.looseObject({ skills: z.looseObject({ entries: z.record(z.string(), z.unknown()) }) });

const NOTEBOOK = `
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
export default definePluginEntry({
  id: "notebook",
  register(api) {
    api.registerTool({
      name: "note_count",
      description: "Counts notes",
      parameters: { type: "object", properties: {} },
      execute: async () => ({ content: [{ type: "text", text: "7 notes" }] }),
    });
    api.registerCommand({ name: "notes", description: "Lists notes.", handler: () => ({ text: "no notes" }) });
  },
});
`;
