/** A PDF with a page for each text. `stream`: the content of every page instead. */
export function pdfOf(texts: readonly string[], stream?: Buffer, trailer = ""): Buffer {
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
