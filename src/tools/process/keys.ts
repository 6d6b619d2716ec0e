const ESCAPE = "\u001B";

/** What a terminal sends for a key. */
const NAMED: Readonly<Record<string, string>> = {
  enter: "\r",
  return: "\r",
  tab: "\t",
  escape: ESCAPE,
  esc: ESCAPE,
  space: " ",
  backspace: "\u007F",
  bspace: "\u007F",
  up: `${ESCAPE}[A`,
  down: `${ESCAPE}[B`,
  right: `${ESCAPE}[C`,
  left: `${ESCAPE}[D`,
  home: `${ESCAPE}[H`,
  end: `${ESCAPE}[F`,
  insert: `${ESCAPE}[2~`,
  delete: `${ESCAPE}[3~`,
  pageup: `${ESCAPE}[5~`,
  pagedown: `${ESCAPE}[6~`,
  btab: `${ESCAPE}[Z`,
  f1: `${ESCAPE}OP`,
  f2: `${ESCAPE}OQ`,
  f3: `${ESCAPE}OR`,
  f4: `${ESCAPE}OS`,
  f5: `${ESCAPE}[15~`,
  f6: `${ESCAPE}[17~`,
  f7: `${ESCAPE}[18~`,
  f8: `${ESCAPE}[19~`,
  f9: `${ESCAPE}[20~`,
  f10: `${ESCAPE}[21~`,
  f11: `${ESCAPE}[23~`,
  f12: `${ESCAPE}[24~`,
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  arrowup: "up",
  arrowdown: "down",
  arrowright: "right",
  arrowleft: "left",
  pgup: "pageup",
  pgdn: "pagedown",
  ppage: "pageup",
  npage: "pagedown",
  dc: "delete",
  del: "delete",
  ic: "insert",
};

/** The bytes of a key as tmux names keys (`C-c`, `M-x`, `S-Tab`, `Enter`, `F1`), of `^C`, or of one character. Undefined for others. */
export function bytesOfKey(key: string): string | undefined {
  const meta = /^(?:M|Alt)-(.+)$/is.exec(key)?.[1];
  if (meta !== undefined) {
    const rest = bytesOfKey(meta);
    return rest === undefined ? undefined : `${ESCAPE}${rest}`;
  }
  const control = /^(?:C-|Ctrl[-+]|\^)(.+)$/is.exec(key)?.[1];
  if (control !== undefined) return controlOf(control);
  if (/^S-Tab$/i.test(key)) return NAMED["btab"];
  return /^.$/su.test(key) ? key : namedKey(key.toLowerCase());
}

const namedKey = (name: string): string | undefined => {
  const found = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? name) : name;
  return Object.hasOwn(NAMED, found) ? NAMED[found] : undefined;
};

/** Control takes the upper bits of a character away. */
function controlOf(key: string): string | undefined {
  if (key === "?") return "\u007F";
  const char = /^space$/i.test(key) ? "@" : key.toUpperCase();
  return /^[@-_]$/.test(char) ? String.fromCharCode(char.charCodeAt(0) & 0x1f) : undefined;
}

/** The byte of two hex digits, with `0x` or without. Undefined for others. */
export function byteOfHex(hex: string): number | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,2})$/i.exec(hex.trim())?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

const PASTE_BEGIN = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;

/** A text as a terminal marks a pasted one, so that programs do not take its lines for commands. It cannot end the mark itself. */
export const pasted = (text: string): string => `${PASTE_BEGIN}${text.replaceAll(ESCAPE, "")}${PASTE_END}`;
