import { Secret } from "../../types/secret.ts";

/** A text for the error output: without secrets, and without control characters except those of the progress line. */
export function errText(text: string): string {
  const masked = Secret.mask(text);
  return text.startsWith(REWRITE) ? REWRITE + terminalText(masked.slice(REWRITE.length)) : terminalText(masked);
}

/** Moves to the start of the terminal's line and clears it. */
export const REWRITE = "\r\u001b[2K";

/** A text of strangers without control characters and without those that change its direction. Line breaks and tabs stay. */
export const withoutTerminalControls = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- control characters are removed
  text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Bidi_Control}]/gu, "");

/**
 * A text for a person: without control characters, whoever wrote it. Colours stay, also those of strangers, except the one
 * that hides text.
 */
export const terminalText = (text: string): string =>
  text
    .split(COLOR)
    .map((part, index) => (index % 2 === 0 ? withoutTerminalControls(part) : part))
    .join("");

// oxlint-disable-next-line no-control-regex -- an escape character begins a colour
const COLOR = /(\u001b\[(?!(?:\d*;)*0*8[;m])[\d;]*m)/;
