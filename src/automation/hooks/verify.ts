import { createHmac, timingSafeEqual } from "node:crypto";

/** Most seconds between the signature's time and now. */
const MOST_AGE_SECONDS = 300;

/** Compares two texts in a time that does not depend on the place of their first difference. */
export function isSameSecret(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHmac("sha256", "compare").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

/**
 * Whether a request is signed with the secret: `sha256=<hex>` over the body, as GitHub does, or `t=<seconds>,v1=<hex>`
 * over the time and the body, as Stripe does. The latter is refused when it is older than five minutes.
 */
export function isSigned(header: string | undefined, body: Uint8Array, secret: string, now: number): boolean {
  if (header === undefined) return false;
  const parts = header.split(",").map((part) => part.trim());
  const time = parts.find((part) => part.startsWith("t="))?.slice(2);
  if (time === undefined)
    return isSameSecret(
      header
        .trim()
        .toLowerCase()
        .replace(/^sha256=/, ""),
      hmac(secret, body),
    );
  if (Math.abs(now / 1000 - Number(time)) > MOST_AGE_SECONDS || !/^\d+$/.test(time)) return false;
  const wanted = hmac(secret, Buffer.concat([Buffer.from(`${time}.`), body]));
  return parts.some((part) => part.startsWith("v1=") && isSameSecret(part.slice(3), wanted));
}

const hmac = (secret: string, data: Uint8Array): string => createHmac("sha256", secret).update(data).digest("hex");
