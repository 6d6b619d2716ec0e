/**
 * Puts a text on the clipboard, also as HTML where that is given and the browser takes it; whether the text could be put there.
 */
export async function copyText(text: string, html?: () => Promise<string>): Promise<boolean> {
  // A browser offers its clipboard only to pages of this machine or with TLS.
  if (navigator.clipboard === undefined) return copySelected(text);
  const writes = [
    ...(html === undefined ? [] : [() => writeBoth(text, html)]),
    () => navigator.clipboard.writeText(text),
  ];
  for (const write of writes) {
    try {
      await write();
      return true;
    } catch {
      // The next way may be open.
    }
  }
  return copySelected(text);
}

/** The browser has to be asked at once when a person presses the button, so that the HTML comes after. */
function writeBoth(text: string, html: () => Promise<string>): Promise<void> {
  const made = html().then((source) => new Blob([source], { type: "text/html" }));
  // The write fails for the same reason, unless it has failed before; plain text is then copied.
  made.catch((error: unknown) => console.warn("the answer could not be made into HTML for the clipboard", error));
  const item = new ClipboardItem({ "text/plain": new Blob([text], { type: "text/plain" }), "text/html": made });
  return navigator.clipboard.write([item]);
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
