/** A stretch of lines that is not to be cut: a fenced code block, or one line that begins with a run of fence marks. */
export interface FenceSpan {
  /** Offset of the fence's first line. */
  readonly start: number;
  /** Offset of the fence's content; the text's end when the first line is not complete. */
  readonly body: number;
  /** Offset after the closing line, without the line break; the text's end when the fence is not closed. */
  readonly end: number;
  readonly closed: boolean;
  /** The line that closes the fence; empty for the single line, which is no fence. */
  readonly close: string;
}

const OPENING = /^([ \t]*)(`{3,}|~{3,})(.*)$/;

/** Finds the fences of a text, which may end in the middle of a line. */
export function scanFences(text: string): FenceSpan[] {
  const spans: FenceSpan[] = [];
  let open: FenceSpan | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    const marks = OPENING.exec(text.slice(at, end));
    if (marks !== null && open === undefined) {
      open = opened(marks, at, Math.min(end + 1, text.length));
      if (open.close === "") spans.push({ ...open, end, closed: true });
      if (open.close === "") open = undefined;
    } else if (marks !== null && open !== undefined && closes(marks, open.close)) {
      spans.push({ ...open, end, closed: true });
      open = undefined;
    }
    at = end;
  }
  return open === undefined ? spans : [...spans, { ...open, end: text.length }];
}

function opened(marks: RegExpExecArray, start: number, body: number): FenceSpan {
  const [, indent = "", mark = "", info = ""] = marks;
  const inline = mark.startsWith("`") && info.includes("`");
  return { start, body, end: body, closed: false, close: inline ? "" : indent + mark };
}

/** The span that a cut at `at` would tear; one that is not closed also at its end. */
export function spanAt<S extends Pick<FenceSpan, "start" | "end" | "closed">>(
  spans: readonly S[],
  at: number,
): S | undefined {
  return spans.find((span) => span.start < at && (at < span.end || (at === span.end && !span.closed)));
}

/** Whether `spanAt` finds something, for many places in ascending order. */
export function spanTest(spans: readonly Pick<FenceSpan, "start" | "end" | "closed">[]): (at: number) => boolean {
  const sorted = spans.toSorted((one, other) => one.start - other.start);
  let next = 0;
  let until = -1;
  return (at) => {
    for (let span = sorted[next]; span !== undefined && span.start < at; span = sorted[next]) {
      until = Math.max(until, span.closed ? span.end - 1 : span.end);
      next += 1;
    }
    return at <= until;
  };
}

/** The last place not beyond `at` that does not tear a surrogate pair. */
export function wholeUnits(text: string, at: number): number {
  const low = text.charCodeAt(at);
  const high = text.charCodeAt(at - 1);
  const torn = low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
  return torn ? at - 1 : at;
}

/**
 * Cuts a text that begins with the fence `span` so that the first part, closed, has at most `maxChars` units; the rest
 * opens the fence again. `undefined` when the markers leave no space for content.
 */
export function splitFence(
  text: string,
  span: FenceSpan,
  maxChars: number,
): { chunk: string; rest: string } | undefined {
  const closing = `\n${span.close}`;
  const limit = maxChars - closing.length;
  if (span.close === "" || limit <= span.body) return undefined;
  const at = codeBreak(text, span, limit);
  const skip = text.charAt(at) === "\n" ? 1 : 0;
  const info = text.slice(0, span.body);
  const opening = span.body + closing.length > maxChars / 2 ? `${span.close}\n` : info;
  return { chunk: text.slice(0, at) + closing, rest: opening + text.slice(at + skip) };
}

/** The last line break within the limit that is not before the closing line, else any place. */
function codeBreak(text: string, span: FenceSpan, limit: number): number {
  for (let at = text.lastIndexOf("\n", limit); at > span.body; at = text.lastIndexOf("\n", at - 1)) {
    const marks = OPENING.exec(text.slice(at + 1).split("\n", 1)[0] ?? "");
    if (marks === null || !closes(marks, span.close)) return at;
  }
  const at = wholeUnits(text, limit);
  return at > span.body ? at : at + 2;
}

function closes(marks: RegExpExecArray, close: string): boolean {
  const [, , mark = "", info = ""] = marks;
  const opened = close.trimStart();
  return mark.charAt(0) === opened.charAt(0) && mark.length >= opened.length && info.trim() === "";
}
