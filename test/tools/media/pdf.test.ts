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

/** A PDF with a page for each text. `stream`: the content of every page instead. */
function pdfOf(texts: readonly string[], stream?: Buffer, trailer = ""): Buffer {
  const contents = texts.map((text) => stream ?? Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`));
  const filter = stream ? " /Filter /FlateDecode" : "";
  const kids = texts.map((_, at) => `${4 + 2 * at} 0 R`).join(" ");
  const objects: Buffer[] = [
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from(`<< /Type /Pages /Kids [${kids}] /Count ${texts.length} >>`),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    ...contents.flatMap((content, at) => [
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * at} 0 R >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< /Length ${content.length}${filter} >>\nstream\n`),
        content,
        Buffer.from("\nendstream"),
      ]),
    ]),
  ];
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const places: number[] = [];
  for (const [at, object] of objects.entries()) {
    places.push(Buffer.concat(parts).length);
    parts.push(Buffer.from(`${at + 1} 0 obj\n`), object, Buffer.from("\nendobj\n"));
  }
  const start = Buffer.concat(parts).length;
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${trailer} >>\nstartxref\n${start}\n%%EOF`,
    ),
  );
  return Buffer.concat(parts);
}

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
