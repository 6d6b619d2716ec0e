import { isFields, type Fields } from "../utils/fields.ts";

/** Characters of a result's details as JSON, and of one text in details that have more. */
const MOST_CHARS = 64_000;
const MOST_TEXT = 4000;
/** Characters of the name of a source. */
const MOST_NAME = 200;

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/**
 * The details of a result as the transcript keeps them. Details that are too large lose their largest parts and say so in
 * `persistedDetailsTruncated`; what cannot be written as JSON is left out.
 */
export function boundedDetails(details: Fields): Record<string, unknown> {
  try {
    if (sizeOf(details) <= MOST_CHARS) return details;
  } catch {
    // A tool of a plugin may return values that JSON does not have: only the ones that it has are kept.
  }
  const entries = Object.entries(details).flatMap(([key, value]) => keptEntry(key, value));
  const kept: Record<string, unknown> = { persistedDetailsTruncated: true };
  let left = MOST_CHARS;
  for (const { key, value, size } of entries.toSorted((a, b) => a.size - b.size)) {
    // The quotes, the colon and the comma.
    left -= size + key.length + 4;
    if (left < 0) break;
    kept[key] = value;
  }
  return { ...kept, ...markIn(details) };
}

/** The mark of content that somebody else wrote, without what else is in it: questions to people depend on it. */
function markIn({ externalContent: external }: Fields): Record<string, unknown> {
  if (!isFields(external) || external["untrusted"] !== true) return {};
  const { source, provider } = external;
  const short = (text: unknown) => (typeof text === "string" ? text.slice(0, MOST_NAME).toWellFormed() : undefined);
  return { externalContent: { untrusted: true, source: short(source), provider: short(provider) } };
}

function keptEntry(key: string, value: unknown) {
  const short = typeof value === "string" ? value.slice(0, MOST_TEXT).toWellFormed() : value;
  try {
    return [{ key, value: short, size: sizeOf(short) }];
  } catch {
    // As above.
    return [];
  }
}
