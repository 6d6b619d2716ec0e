/** A longer address is written out instead of being linked. */
const MAX_HREF = 2048;

/**
 * Whether Telegram makes a link of this address: http and https with a dotted host, and tg. It drops `http://localhost`
 * and makes a broken web link of mailto addresses (found with its own parser), so those are written out.
 */
export function isWebLink(href: string): boolean {
  if (href.length > MAX_HREF) return false;
  const url = URL.parse(href);
  if (url === null) return false;
  if (url.protocol === "tg:") return true;
  return (url.protocol === "http:" || url.protocol === "https:") && /[^.]\.[^.]/.test(url.hostname);
}

/** What has to stand beside a label so that its target is not lost; `undefined` when the label says it. */
export function shownTarget(label: string, href: string): string | undefined {
  const target = readable(href);
  const said = readable(label.trim());
  return target === "" || said === target || said === bare(target) ? undefined : target;
}

function bare(target: string): string {
  return target.replace(/^(?:https?:\/\/|mailto:)/i, "").replace(/\/$/, "");
}

function readable(href: string): string {
  try {
    return decodeURI(href);
  } catch {
    // A stray percent sign: as it stands, it is as readable as it gets.
    return href;
  }
}
