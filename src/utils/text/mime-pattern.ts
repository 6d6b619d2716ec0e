/** Whether a MIME type is of such a kind: `image/png`, `image/*`, or with a `*` on both sides. Parameters and case do not count. */
export function isOfType(mime: string, pattern: string): boolean {
  const [kind = "", form = ""] = partsOf(mime);
  const [wantedKind, wantedForm] = partsOf(pattern);
  return (wantedKind === "*" || wantedKind === kind) && (wantedForm === "*" || wantedForm === form);
}

const partsOf = (mime: string): readonly string[] => (mime.split(";", 1)[0] ?? "").trim().toLowerCase().split("/", 2);
