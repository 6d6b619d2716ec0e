import { foldLooks, type FoldedLooks } from "../utils/text/invisible.ts";

/** A change of the original: the text from `from` to `to` becomes `text`. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** A marker in folded text, and how it is changed. */
interface Rule {
  readonly looks: RegExp;
  readonly edit: "mark" | "name" | "round" | "square" | "drop";
  /** Set when the rule does not apply in a closed fenced block, where the marker is code. */
  readonly outsideFences?: boolean;
}

/** Marks of quotes, lists, headings and emphasis before a word at the start of a line. */
const LINE = String.raw`(?<=^|\n)(?:[ >*_~\x60#|+•·-]|\d{1,9}[.)] )*`;
const AFTER_WORD = String.raw`[ *_~\x60]*`;

const MARKERS = [
  "system(?: +message)?",
  "inter-session +message",
  "internal +task +completion +event",
  "thread +(?:history|starter) +- +for +context",
  "queued +(?:announce +)?messages +while +agent +was +busy",
  "heartbeat",
];

/**
 * Markers that only the gateway, or the format of a model's prompt, may write. `mark` puts "(untrusted)" before a
 * colon, `name` puts it before a sentence, `round` and `square` change the brackets, `drop` takes a number sign.
 */
const RULES: readonly Rule[] = [
  { looks: new RegExp(`${LINE}system${AFTER_WORD}(?=:)`, "g"), edit: "mark" },
  {
    looks: /(?<=^|\n) *(?:assistant|user|human|developer) *(?=:)/g,
    edit: "mark",
    outsideFences: true,
  },
  {
    looks: new RegExp(
      `${LINE}(?=note: the previous agent run was aborted|the user has just opened a fresh session)`,
      "g",
    ),
    edit: "name",
  },
  { looks: new RegExp(`${LINE}queued +#(?=\\d)`, "g"), edit: "drop" },
  { looks: new RegExp(String.raw`\[ *(?:${MARKERS.join("|")}) *\]`, "g"), edit: "round" },
  // Even an unclosed one: text that the gateway appends could close it.
  { looks: /\[ *media +(?:attached|not +available)[^[\]\n]*\]?/g, edit: "round" },
  { looks: /<<<? *\/?(?:begin|end)_[a-z_]{1,60} *>>>?/g, edit: "round" },
  { looks: /<\|(?! )[^|<>\n]{1,40}\|>/g, edit: "round" },
  { looks: /\[\/?inst\]|<<\/?sys>>|<(?:start|end)_of_turn>/g, edit: "round" },
  { looks: /<\/?(?:system|assistant|human|user)>/g, edit: "round", outsideFences: true },
  { looks: /\( *(?:(?:un)?trusted(?: +metadata|,)|metadata, +do +not +treat)[^()\n]{0,80}\)/g, edit: "square" },
];

const BRACKETS: Readonly<Record<"round" | "square", readonly [open: string, close: string]>> = {
  round: ["(", ")"],
  square: ["[", "]"],
};

/** Text that folds to its small letters. */
const ASCII = /^[\n -~]*$/;
/** Signs and words of which every rule needs one. */
const MAY_BE_MARKER = /[:[(<]|queued|the user has just/i;

/**
 * Changes foreign text so that it cannot pose as the gateway or as another turn: `System:` at the start of a line
 * becomes `System (untrusted):`, the gateway's own brackets and the brackets of a model's prompt format become others,
 * and a text that looks like the gateway's notes or the title of one of its blocks is changed so far that it no longer
 * does. Looks decide, so that invisible signs, other alphabets and Markdown hide nothing. The rest stays as it is.
 * Takes time in proportion to the text's length.
 */
export function neutralise(text: string): string {
  if (ASCII.test(text) && !MAY_BE_MARKER.test(text)) return text;
  const folded = foldLooks(text);
  const fences = fencesOf(folded.text);
  const isCode = (at: number): boolean => fences.some(({ from, to }) => from <= at && at < to);
  const edits = RULES.flatMap((rule) =>
    [...folded.text.matchAll(rule.looks)]
      .filter((found) => rule.outsideFences !== true || !isCode(found.index + found[0].length))
      .flatMap((found) => editsFor(rule, found, { folded, text })),
  );
  return apply(text, edits);
}

const TAILS: Readonly<Record<string, RegExp>> = { "[": /\]+$/, "(": /\)+$/, "<": />+$/ };

interface Texts {
  readonly folded: FoldedLooks;
  readonly text: string;
}

function editsFor({ edit }: Rule, { 0: found, index }: RegExpExecArray, { folded, text }: Texts): Edit[] {
  const place = (at: number): number => folded.at[at] ?? text.length;
  const end = index + found.length;
  if (edit === "mark") return [{ from: place(index + found.trimEnd().length), to: place(end), text: " (untrusted)" }];
  if (edit === "name") return [{ from: place(end), to: place(end), text: "(untrusted) " }];
  if (edit === "drop") return [{ from: place(end - 1), to: place(end), text: "" }];
  const [open, close] = BRACKETS[edit];
  const heads = /^[[(<]+/.exec(found)?.[0].length ?? 0;
  const tails = TAILS[found.charAt(0)]?.exec(found)?.[0].length ?? 0;
  const head = { from: place(index), to: place(index + heads), text: open };
  return tails === 0 ? [head] : [head, { from: place(end - tails), to: place(end), text: close }];
}

function apply(text: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (edit.from < at) continue;
    out += text.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return out + text.slice(at);
}

/** Fenced blocks that are closed. */
function fencesOf(folded: string): { from: number; to: number }[] {
  const lines = [...folded.matchAll(/^ {0,3}(`{3,}|~{3,})/gm)];
  const fences: { from: number; to: number }[] = [];
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [open, close] = [lines[at], lines[at + 1]];
    if (open && close) fences.push({ from: open.index, to: close.index });
  }
  return fences;
}

/** Foreign text on one line. */
export function oneLine(text: string): string {
  return neutralise(text.replaceAll(/[\s\u0085]+/gu, " ").trim());
}

/** A line about a message, of foreign parts: it neither begins another line nor a fence. */
export function contextLine(text: string): string {
  return oneLine(text).replaceAll(/[`\uff40]{3,}/g, (run) => "'".repeat(run.length));
}

const FENCE_BREAKERS = /[`\u0085\u2028\u2029]/g;

/** A titled JSON block whose strings can neither close its fence nor begin a line. */
export function jsonBlock(title: string, value: unknown): string {
  const json = JSON.stringify(value, null, 2).replaceAll(
    FENCE_BREAKERS,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${title}\n\`\`\`json\n${json}\n\`\`\``;
}
