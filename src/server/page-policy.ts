import { createHash } from "node:crypto";

type Header = readonly ["content-security-policy", string];

/** Sources of this host's WebSockets, because not every browser counts them as `'self'`. */
function socketsOf(host: string | undefined): string {
  return /^[\w.:[\]-]+$/.test(host ?? "") ? ` ws://${host} wss://${host}` : "";
}

const COMMON = ["font-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** Policy for the gateway's own page, and for everything else that is no document. */
export const pagePolicy = (host: string | undefined): Header => [
  "content-security-policy",
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    `connect-src 'self'${socketsOf(host)}`,
    ...COMMON,
  ].join("; "),
];

/**
 * Policy for the document of a Control UI. It also allows the scripts of this document by their hashes, styles in attributes, a
 * service worker, a manifest and sounds of this host. It allows no other host: not for pictures either, which would tell their
 * server who reads the chat.
 */
export const controlUiPolicy = (html: string, host: string | undefined): Header => [
  "content-security-policy",
  [
    "default-src 'none'",
    ["script-src 'self'", ...inlineScripts(html)].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    `connect-src 'self' data: blob:${socketsOf(host)}`,
    ...COMMON,
  ].join("; "),
];

/** The hashes by which the policy knows the scripts without `src`. */
function inlineScripts(html: string): readonly string[] {
  return [...html.matchAll(/<script\b([^>]*)>([^]*?)<\/script>/gi)]
    .filter(([, attributes = "", code = ""]) => !/\ssrc\s*=/i.test(attributes) && code !== "")
    .map(([, , code = ""]) => `'sha256-${createHash("sha256").update(code, "utf8").digest("base64")}'`);
}
