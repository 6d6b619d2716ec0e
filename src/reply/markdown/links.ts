/** A longer address is written out instead of being linked. */
const MAX_HREF = 2048;

/**
 * Whether Telegram makes a link of an address: http and https with a dotted host, and tg. Telegram drops
 * `http://localhost` and makes a broken web link of mailto addresses (found with its own parser), so these addresses
 * are written out.
 */
export function isWebLink(href: string): boolean {
  if (href.length > MAX_HREF) return false;
  const url = URL.parse(href);
  if (url === null) return false;
  if (url.protocol === "tg:") return true;
  return (url.protocol === "http:" || url.protocol === "https:") && /[^.]\.[^.]/.test(url.hostname);
}

/** The address to be written after a label, so that it is not lost. `undefined` when the label contains it. */
export function shownTarget(label: string, href: string): string | undefined {
  const target = readable(href);
  const said = readable(label.trim());
  return target === "" || said === target || said === bare(target) ? undefined : target;
}

function bare(target: string): string {
  return target.replace(/^(?:https?:\/\/|mailto:)/i, "").replace(/\/$/, "");
}

/** Unescapes letters of other scripts. Signs that would end or change an address stay escaped. */
function readable(href: string): string {
  return href.replace(/%[c-f][0-9a-f](?:%[89ab][0-9a-f])+/gi, (escaped) => {
    try {
      const text = decodeURIComponent(escaped);
      return /^[\p{L}\p{M}\p{N}]$/u.test(text) ? text : escaped;
    } catch {
      return escaped;
    }
  });
}
