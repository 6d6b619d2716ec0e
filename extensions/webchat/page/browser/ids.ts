/** An id that nobody else has. A browser has `crypto.randomUUID` only for pages with https or of the own machine. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
