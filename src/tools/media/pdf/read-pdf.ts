import { extractImages, getDocumentProxy } from "unpdf";
import { visibleText } from "../../../utils/text/clean-text.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { toPng, type Pixels } from "../../../utils/png.ts";
import type { PdfJob, PdfRefusal, PdfText } from "./pdf-job.ts";

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;

/** Most pixels of all pictures of one job, and of one picture in the file. */
const MOST_PIXELS = 4_000_000;
const MOST_PIXELS_OF_ONE = 20_000_000;
/** Least pixels of a side; smaller pictures are logos and lines. */
const LEAST_SIDE = 100;

/** Options of the parser: it fetches nothing, and runs no code of the document. */
const OPTIONS = {
  isEvalSupported: false,
  useSystemFonts: false,
  disableFontFace: true,
  useWorkerFetch: false,
  useWasm: false,
  enableXfa: false,
  stopAtErrors: false,
  isImageDecoderSupported: false,
  isOffscreenCanvasSupported: false,
  maxImageSize: MOST_PIXELS_OF_ONE,
  verbosity: 0,
};

/** The text or the pictures of a document. Never rejects. Keeps the thread busy until the job is done. */
export async function readPdf(job: PdfJob): Promise<PdfText | PdfRefusal> {
  let document: Document | undefined;
  try {
    document = await getDocumentProxy(Uint8Array.from(job.bytes), OPTIONS);
    const count = document.numPages;
    const numbers = (job.pages ?? upTo(count)).filter((number) => number <= count).slice(0, job.mostPages);
    const empty = { count, pages: [], isCut: false, pictures: [] };
    if (job.want === "pictures") return { ...empty, pictures: await picturesOf(document, numbers) };
    return { ...empty, ...(await textOf(document, numbers, job.mostChars)) };
  } catch (error) {
    return { refused: reasonOf(error) };
  } finally {
    await document?.loadingTask.destroy();
  }
}

const upTo = (count: number): readonly number[] => Array.from({ length: Math.min(count, 10_000) }, (_, at) => at + 1);

function reasonOf(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  if (name === "PasswordException") return "it is encrypted with a password; save it without one";
  if (name === "InvalidPDFException") return "it is damaged or no PDF file";
  return errorText(error).slice(0, 200).replace(/\.$/, "");
}

/** The text of pages. Throws when no page can be read. */
async function textOf(
  document: Document,
  numbers: readonly number[],
  most: number,
): Promise<Pick<PdfText, "pages" | "isCut">> {
  const pages: { number: number; text: string }[] = [];
  let left = most;
  let isReadable = false;
  for (const number of numbers) {
    const read = await pageText(document, number);
    const text = typeof read === "string" ? read : `[This page could not be read: ${reasonOf(read.error)}.]`;
    isReadable ||= typeof read === "string";
    if (!isReadable && number === numbers.at(-1) && typeof read !== "string") throw read.error;
    pages.push({ number, text: text.slice(0, left).toWellFormed() });
    if (text.length > left) return { pages, isCut: true };
    left -= text.length;
  }
  return { pages, isCut: false };
}

/** The text of a page, or its error, so that the other pages can still be read. */
async function pageText(document: Document, number: number): Promise<string | { readonly error: unknown }> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    const raw = items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("");
    return visibleText(raw).trim();
  } catch (error) {
    return { error };
  }
}

/** The largest picture of each page; of a scanned page, the page itself. */
async function picturesOf(document: Document, numbers: readonly number[]): Promise<PdfText["pictures"]> {
  const pictures: { page: number; png: Uint8Array }[] = [];
  for (const page of numbers) {
    const largest = await largestPicture(document, page);
    if (largest) pictures.push({ page, png: toPng(thinned(largest, MOST_PIXELS / numbers.length)) });
  }
  return pictures;
}

async function largestPicture(document: Document, page: number): Promise<Pixels | undefined> {
  try {
    const found = await extractImages(document, page);
    return found
      .filter(({ width, height }) => Math.min(width, height) >= LEAST_SIDE)
      .toSorted((a, b) => b.width * b.height - a.width * a.height)[0];
  } catch {
    // The text shows whether the page can be read at all; the pictures of other pages are still shown.
    return undefined;
  }
}

/** Every nth pixel, so that at most `most` are left. */
function thinned(pixels: Pixels, most: number): Pixels {
  const { data, width, height, channels } = pixels;
  const step = Math.ceil(Math.sqrt((width * height) / Math.max(1, most)));
  if (step <= 1) return pixels;
  const [columns, rows] = [Math.floor(width / step), Math.floor(height / step)];
  const made = new Uint8Array(columns * rows * channels);
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const from = (row * step * width + column * step) * channels;
      for (let channel = 0; channel < channels; channel += 1) made[at++] = data[from + channel] ?? 0;
    }
  }
  return { data: made, width: columns, height: rows, channels };
}
