/** `openclaw/plugin-sdk/account-id`. */

export const DEFAULT_ACCOUNT_ID = "default";

/** An account's id as the config and file names have it: lower case letters, digits, `-` and `_`; `default` for no id. */
export function normalizeAccountId(value: string | null | undefined): string {
  const plain = (value ?? "").trim().toLowerCase();
  const id = plain.replaceAll(/[^a-z0-9_-]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return id === "" ? DEFAULT_ACCOUNT_ID : id.slice(0, 64);
}
