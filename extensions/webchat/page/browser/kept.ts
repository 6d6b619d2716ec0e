/** What this browser does not keep: it may keep nothing at all, or have no more space. */
const unkept = new Map<string, string | undefined>();

/** The text that this browser keeps under a key, over reloads and for all its tabs. Never throws. */
export function kept(key: string): string | undefined {
  if (unkept.has(key)) return unkept.get(key);
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * Keeps a text in this browser under a key, or forgets it when it is undefined. Where the browser refuses, as it does for a person
 * who blocks cookies, this tab knows the text until it is reloaded, and the answer is `false`. Never throws.
 */
export function keep(key: string, text: string | undefined): boolean {
  try {
    if (text === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    unkept.delete(key);
    return true;
  } catch {
    unkept.set(key, text);
    return false;
  }
}
