/** Puts a text on the clipboard; whether that was possible. */
export async function copyText(text: string): Promise<boolean> {
  // A browser offers its clipboard only to pages of this machine or with TLS.
  if (navigator.clipboard === undefined) return copySelected(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
