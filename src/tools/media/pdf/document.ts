import type { AskedModel, NotAsked, SidePart } from "../../../types/media/side-call.ts";
import { wrapUntrusted } from "../../../utils/text/untrusted.ts";
import type { Source } from "../source.ts";
import type { PdfText } from "./pdf-job.ts";
import { readPdfInThread } from "./pdf-thread.ts";

/** Characters of a page, below which it may be a scan. */
const FEW_CHARS = 200;
const MOST_CHARS = 400_000;
/**
 * UTF-16 units of text for one token of a window: half of the window is left for the model's other input, and for its
 * answer.
 */
const CHARS_PER_TOKEN = 1.5;

interface Wanted {
  readonly pages: readonly number[] | undefined;
  readonly mostPages: number;
}

/** A document with its text. */
export interface OpenDocument {
  /** Number of pages of the document, and of pages that are read. */
  readonly count: number;
  readonly read: number;
  /** Parts of the document for a model with so many tokens left for it. */
  partsFor(model: AskedModel, tokens: number): Promise<readonly SidePart[] | NotAsked>;
}

/** Reads the text of a document. Rejects with a text for the model when the document cannot be read. */
export async function openDocument(source: Source, wanted: Wanted): Promise<OpenDocument> {
  const { bytes, name } = source;
  const text = await readPdfInThread({ bytes, want: "text", ...wanted, mostChars: MOST_CHARS });
  if ("refused" in text) throw new Error(`${name} could not be read: ${text.refused}.`);
  const { count, pages } = text;
  if (pages.length === 0) throw new Error(`${name} has ${count} pages, and none of those that were named.`);
  let pictures: Promise<PdfText["pictures"]> | undefined;
  const scans = pages.filter((page) => page.text.length < FEW_CHARS).map(({ number }) => number);
  const isWhole = wanted.pages === undefined && pages.length === count;
  return {
    count,
    read: pages.length,
    async partsFor({ info, readsPdf }, tokens) {
      if (readsPdf && isWhole) return [{ type: "pdf", bytes }];
      const seesImages = info.input.includes("image");
      const seen = seesImages && scans.length > 0 ? await (pictures ??= picturesOf(source, scans)) : [];
      if (seen.length === 0 && pages.every((page) => page.text === "")) return { why: noText(name, seesImages) };
      const images = seen.map(({ page, png }): SidePart => ({
        type: "image",
        bytes: png,
        name: `page ${page} of ${name}`,
      }));
      return [{ type: "text", text: shownText(name, text, Math.floor(tokens * CHARS_PER_TOKEN)) }, ...images];
    },
  };
}

const noText = (name: string, seesImages: boolean): string =>
  seesImages
    ? `${name} has no text and no pictures that can be shown`
    : `${name} has no text, so it may be scanned, and the model sees no images (set agents.defaults.pdfModel to one that does)`;

async function picturesOf({ bytes, name }: Source, pages: readonly number[]): Promise<PdfText["pictures"]> {
  const read = await readPdfInThread({ bytes, want: "pictures", pages, mostPages: pages.length, mostChars: 0 });
  if ("refused" in read) throw new Error(`The pictures of ${name} could not be read: ${read.refused}.`);
  return read.pictures;
}

function shownText(name: string, { count, pages, isCut }: PdfText, most: number): string {
  const whole = pages.map(({ number, text }) => `[Page ${number}]\n${text === "" ? "[no text]" : text}`).join("\n\n");
  const text = whole.slice(0, most).toWellFormed();
  const notes = [
    `${name} has ${count} pages; ${pages.length === count ? "all of them are" : `${pages.length} of them are`} read.`,
    ...(isCut || text.length < whole.length ? ["Their text is longer than what is shown."] : []),
  ];
  return `${notes.join(" ")}\n${wrapUntrusted(text, { label: "PDF", from: name })}`;
}
