import { wholeUnits } from "../reply/fences.ts";
import type { OutboundPart, OutboundText } from "../types/chat/reply.ts";
import { loadOnce } from "../utils/share-calls.ts";
import { withoutControls } from "../utils/text/controls.ts";
import type * as Renderer from "./render-parts.ts";
import type { RenderLimits } from "./render-parts.ts";
import type { RenderThread } from "./render-thread.ts";

/** Kept, because Node takes some time to look up a module that it has loaded already. */
let renderer: typeof Renderer | undefined;

/** UTF-16 units; a longer text may take hundreds of milliseconds, in which this thread would do nothing else. */
const MOST_HERE = 4000;

/** The process has one render thread. Its only state is the thread itself. */
const thread = loadOnce(async (): Promise<RenderThread> => {
  const [{ RenderThread }, { programUrl }] = await Promise.all([
    import("./render-thread.ts"),
    import("../utils/thread/job-thread.ts"),
  ]);
  return new RenderThread(programUrl(import.meta.url, "render-program"));
});

/**
 * Renders Markdown in the platform's format, cut to its limit, without empty chunks and without signs that change how other text is
 * shown. The renderer is loaded on first use. A text that cannot be rendered is cut as it was written; `report` gets the reason.
 */
export async function renderText(
  written: string,
  limits: RenderLimits,
  report?: (why: string) => void,
): Promise<readonly OutboundText[]> {
  const markdown = withoutControls(written);
  if (markdown.trim() === "") return [];
  // A resend must fit with its label.
  const text = Math.max(1, limits.text - REPEAT_LABEL.length - 1);
  const { format, lines, tables } = limits;
  const own = { format, text, ...(lines !== undefined && { lines }), ...(tables && { tables }) };
  if (markdown.length > MOST_HERE) {
    const inThread = await thread();
    const rendered = await inThread.render({ markdown, limits: own });
    if (!("failed" in rendered)) return rendered;
    report?.(rendered.failed);
    return asWritten(markdown, text);
  }
  renderer ??= await import("./render-parts.ts");
  return renderer.renderParts(markdown, own);
}

/** Cut at lines where there are any. */
function asWritten(markdown: string, limit: number): readonly OutboundText[] {
  const parts: OutboundText[] = [];
  for (let at = 0; at < markdown.length;) {
    const window = markdown.slice(at, at + limit);
    const isLast = at + limit >= markdown.length;
    const end = isLast ? window.length : window.lastIndexOf("\n") + 1 || wholeUnits(markdown, at + limit) - at;
    const body = window.slice(0, end).toWellFormed();
    if (body.trim() !== "") parts.push({ kind: "text", format: "plain", body, plain: body });
    at += end;
  }
  return parts;
}

/** The start of a resend whose first send may have arrived. */
const REPEAT_LABEL = "(possible repeat) ";

/** Marks that count only at the start of a line. */
const LINE_MARKS = /^(?:>|```)/;

/** Adds the label, but only once, since a chunk has space for only one. */
export function labelled(part: OutboundPart): OutboundPart {
  if (part.kind === "text") return labelledText(part);
  const caption = part.caption ? labelledText(part.caption) : BARE_LABEL;
  return { ...part, caption };
}

const BARE_LABEL: OutboundText = { kind: "text", body: REPEAT_LABEL, plain: REPEAT_LABEL, format: "plain" };

function labelledText(part: OutboundText): OutboundText {
  if (part.body.startsWith(REPEAT_LABEL)) return part;
  const label = LINE_MARKS.test(part.body) ? `${REPEAT_LABEL}\n` : REPEAT_LABEL;
  const styles = part.styles?.map((style) => ({ ...style, start: style.start + label.length }));
  return { ...part, body: label + part.body, plain: label + part.plain, ...(styles && { styles }) };
}

/** The text of a message or its caption. Empty when there is none. */
export const partText = (part: OutboundPart): string => (part.kind === "text" ? part : part.caption)?.plain ?? "";
