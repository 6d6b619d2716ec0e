import { deflateSync } from "node:zlib";

/** A part of a PDF file: its dictionary, and its stream if it has one. */
export interface PdfObject {
  readonly dict: string;
  readonly stream?: Uint8Array | undefined;
}

/** A PDF file of these objects, which have the numbers from 1; the first is the catalogue. */
export function pdfOf(objects: readonly PdfObject[], trailer = ""): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.7\n", "latin1")];
  const places: number[] = [];
  const size = () => parts.reduce((sum, part) => sum + part.byteLength, 0);
  for (const [index, { dict, stream }] of objects.entries()) {
    places.push(size());
    const head = stream ? dict.replace(/>>$/, ` /Length ${stream.byteLength} >>`) : dict;
    parts.push(Buffer.from(`${index + 1} 0 obj\n${head}\n`, "latin1"));
    if (stream) parts.push(Buffer.from("stream\n"), Buffer.from(stream), Buffer.from("\nendstream\n"));
    parts.push(Buffer.from("endobj\n"));
  }
  const start = size();
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`,
      "latin1",
    ),
  );
  return Buffer.concat(parts);
}

const written = (text: string): Buffer =>
  Buffer.from(
    text
      .split("\n")
      .map((line, at) => `BT /F1 12 Tf 50 ${700 - 20 * at} Td (${line.replaceAll(/[()\\]/g, String.raw`\$&`)}) Tj ET`)
      .join("\n"),
    "latin1",
  );

/** What a page has beside its text. */
export interface PdfPage {
  readonly text?: string;
  /** The content, with its filter, in place of the text. */
  readonly content?: PdfObject;
  /** A grey picture of this many pixels on each side. */
  readonly picture?: number;
}

/** A document with these pages. */
export function pdfWith(pages: readonly PdfPage[], trailer = "", more: readonly PdfObject[] = []): Buffer {
  const first = 4;
  const kids = pages.map((_, at) => `${first + 3 * at} 0 R`).join(" ");
  const objects: PdfObject[] = [
    { dict: "<< /Type /Catalog /Pages 2 0 R >>" },
    { dict: `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>` },
    { dict: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>" },
  ];
  for (const [at, { text = "", content, picture = 0 }] of pages.entries()) {
    const [contentAt, pictureAt] = [first + 3 * at + 1, first + 3 * at + 2];
    const drawn = picture > 0 ? "\nq 500 0 0 500 50 100 cm /Im1 Do Q" : "";
    objects.push(
      {
        dict: `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${contentAt} 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 ${pictureAt} 0 R >> >> >>`,
      },
      content ?? {
        dict: "<< >>",
        stream: Buffer.concat([text === "" ? Buffer.alloc(0) : written(text), Buffer.from(drawn)]),
      },
      {
        dict: `<< /Type /XObject /Subtype /Image /Width ${Math.max(1, picture)} /Height ${Math.max(1, picture)} /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode >>`,
        stream: deflateSync(Buffer.alloc(Math.max(1, picture) ** 2, 0x80)),
      },
    );
  }
  return pdfOf([...objects, ...more], trailer);
}
