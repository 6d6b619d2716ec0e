import type { Span, Style, StyledText } from "./styled.ts";

/** The HTML of a part. Styles that extend beyond the part are closed and opened within it. */
export function htmlOf(styled: StyledText, from: number, to: number): string {
  let html = "";
  let at = from;
  const open: Span[] = [];
  const writeTo = (end: number): void => {
    html += escapeHtml(styled.text.slice(at, end));
    at = end;
  };
  const closeUntil = (place: number): void => {
    for (let top = open.at(-1); top !== undefined && top.end <= place; top = open.at(-1)) {
      writeTo(top.end);
      html += tagsOf(top.style)[1];
      open.pop();
    }
  };
  for (const span of styled.spans) {
    const part = { ...span, start: Math.max(span.start, from), end: Math.min(span.end, to) };
    if (part.start >= part.end) continue;
    closeUntil(part.start);
    writeTo(part.start);
    html += tagsOf(part.style)[0];
    open.push(part);
  }
  closeUntil(to);
  writeTo(to);
  return html;
}

const TAGS: Record<Exclude<Style["kind"], "pre" | "link">, string> = {
  bold: "b",
  italic: "i",
  strike: "s",
  spoiler: "tg-spoiler",
  code: "code",
  quote: "blockquote",
};

function tagsOf(style: Style): [open: string, close: string] {
  if (style.kind === "link") return [`<a href="${escapeHtml(style.href)}">`, "</a>"];
  if (style.kind !== "pre") return [`<${TAGS[style.kind]}>`, `</${TAGS[style.kind]}>`];
  if (style.language === "") return ["<pre>", "</pre>"];
  return [`<pre><code class="language-${escapeHtml(style.language)}">`, "</code></pre>"];
}

function escapeHtml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
