import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mediaTools } from "../../../src/tools/media/media-tools.ts";
import { runTool } from "../../../src/tools/run.ts";
import { webFetchConfig } from "../../../src/tools/web/config.ts";
import type { SidePart } from "../../../src/types/media/side-call.ts";
import type { MediaSettings } from "../../../src/types/media/settings.ts";
import type { ModelRef } from "../../../src/types/run/model.ts";
import { createTools } from "../../kit/create-tools.ts";
import { pdfOf } from "../../kit/media/pdf.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";

const EYES: ModelRef = { provider: "eyes", id: "eyes-1" };
const INFO = {
  ...EYES,
  name: "Eyes",
  contextWindow: 50_000,
  maxTokens: 100,
  reasoning: false,
  input: ["text"],
} as const;

let workspace: string;
let shown: SidePart[];

beforeEach(() => {
  workspace = join(realpathSync(mkdtempSync(join(tmpdir(), "pdf-tool-"))), "work");
  mkdirSync(workspace);
  shown = [];
});
afterEach(() => rmSync(join(workspace, ".."), { recursive: true, force: true }));

async function call(input: object, given: { media?: Partial<MediaSettings>; readsPdf?: boolean } = {}) {
  const settings = {
    ...agentSettings(workspace),
    media: { image: { models: [EYES] }, pdfMaxBytes: 1_000_000, pdfMaxPages: 5, ...given.media },
  };
  const own = mediaTools({ web: () => webFetchConfig.parse({}), mediaDir: join(workspace, "..") });
  const tool = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], own }).find(
    ({ name }) => name === "pdf",
  );
  if (!tool) throw new Error("there is no such tool");
  const result = await runTool(tool, input, {
    ...toolContext(workspace),
    async askModel(question) {
      const parts = await question.show({
        info: { ...INFO, input: [...INFO.input] },
        readsPdf: given.readsPdf === true,
      });
      if ("why" in parts) throw new Error(parts.why);
      shown.push(...parts);
      return { text: "It is about lamps.", model: EYES, isCut: false };
    },
  });
  return { result, said: textOf(result) };
}

const file = (name: string, bytes: Buffer): string => {
  writeFileSync(join(workspace, name), bytes);
  return name;
};
const texts = () => shown.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

describe("the tool pdf", () => {
  it("shows a model the text of the pages, and gives its answer", async () => {
    file("a.pdf", pdfOf(["First page", "Second page"]));
    const { said } = await call({ pdf: "a.pdf", prompt: "What is it about?" });
    expect(said).toContain("It is about lamps.");
    expect(texts()).toMatch(/First page[\s\S]*Second page[\s\S]*What is it about\?/);
  });

  it("shows the file itself to a model whose API reads documents", async () => {
    file("a.pdf", pdfOf(["First page"]));
    await call({ pdf: "a.pdf" }, { readsPdf: true });
    expect(shown.map(({ type }) => type)).toEqual(["pdf", "text"]);
    expect(texts()).not.toContain("First page");
  });

  it("reads only the pages that are asked for, and not more than the config allows", async () => {
    file("a.pdf", pdfOf(Array.from({ length: 9 }, (_, at) => `Text of page ${at + 1}`)));
    await call({ pdf: "a.pdf", pages: "2,4-5" });
    expect(texts().match(/Text of page \d/g)).toEqual(["Text of page 2", "Text of page 4", "Text of page 5"]);
    shown = [];
    await call({ pdf: "a.pdf" });
    expect(texts().match(/Text of page \d/g)).toHaveLength(5);
    expect((await call({ pdf: "a.pdf", pages: "all" })).said).toContain("numbers and ranges");
  });

  it("says what is wrong with a file", async () => {
    file("no.pdf", Buffer.from("just text"));
    file("broken.pdf", Buffer.from("%PDF-1.4\nthe rest is missing"));
    file(
      "locked.pdf",
      pdfOf(
        ["x"],
        undefined,
        ` /Encrypt << /Filter /Standard /V 1 /R 2 /O (${"o".repeat(32)}) /U (${"u".repeat(32)}) /P -4 >> /ID [(a) (b)]`,
      ),
    );
    file("big.pdf", Buffer.concat([pdfOf(["x"]), Buffer.alloc(1_200_000)]));
    for (const [name, words] of [
      ["no.pdf", "no.pdf is no PDF file"],
      ["broken.pdf", "damaged"],
      ["locked.pdf", "password"],
      ["big.pdf", "1 MB"],
      ["gone.pdf", "gone.pdf"],
    ] as const) {
      const { result, said } = await call({ pdf: name });
      expect(result.isError).toBe(true);
      expect(said).toContain(words);
    }
    expect((await call({})).said).toContain("Name a PDF file");
  });

  it("gives a page up whose content does not fit into memory, and reads the next document", async () => {
    const zeros = deflateSync(Buffer.alloc(600_000_000, "0 "), { level: 9 });
    file("bomb.pdf", pdfOf(["x"], zeros));
    const { result } = await call({ pdf: "bomb.pdf" }, { media: { pdfMaxBytes: 50_000_000 } });
    expect(result.isError).toBe(true);
    file("a.pdf", pdfOf(["First page"]));
    expect((await call({ pdf: "a.pdf" })).said).toContain("It is about lamps.");
  });
});
