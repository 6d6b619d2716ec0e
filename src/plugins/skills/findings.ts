/** Places in a skill's files that a person should read before installing it. They are no verdict. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  /** What is there, as half a sentence. */
  readonly what: string;
}

const SIGNS: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:curl|wget|iwr|Invoke-WebRequest)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b/i,
    "runs what it downloads",
  ],
  [/\bbase64\s+(?:-d|-D|--decode)\b[^\n]{0,200}\|\s*(?:sudo\s+)?\w*sh\b/i, "runs text that it decodes first"],
  [/\b(?:xattr\s+-[a-z]*d|spctl\s+--master-disable)\b/i, "switches a protection of macOS off"],
  [/\b(?:nc|ncat)\b[^\n]{0,80}\s-e\b|\/dev\/tcp\//i, "opens a connection for a shell"],
  [
    /~\/\.ssh\b|\bid_(?:rsa|ed25519)\b|\.aws\/credentials|Login Data|cookies\.sqlite/i,
    "names private files of this machine",
  ],
  [/\bignore (?:all )?(?:previous|earlier|prior) instructions\b/i, "tells the model to ignore its instructions"],
  // Tag characters and joiners hide text from people, not from models.
  [/[\u200B\u2060\u{E0000}-\u{E007F}\p{Bidi_Control}]/u, "has characters that people do not see"],
];

/** Most findings that are reported. */
const MOST = 20;

/** Reads the text of one file. Pure. */
export function findingsIn(file: string, text: string): readonly Finding[] {
  const found: Finding[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    for (const [sign, what] of SIGNS) if (sign.test(line)) found.push({ file, line: index + 1, what });
    if (found.length >= MOST) break;
  }
  return found.slice(0, MOST);
}
