/**
 * JSON in which the characters that control a terminal or change the direction of text, and that JSON allows within a text, are
 * escaped. It means the same.
 */
export const escapedControls = (json: string): string =>
  json.replaceAll(CONTROLS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

const CONTROLS = /[\u007f-\u009f\p{Bidi_Control}]/gu;
