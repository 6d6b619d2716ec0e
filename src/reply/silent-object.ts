import { createTidyText, type TidyText } from "./tidy.ts";

/** UTF-16 units of the longest text that is looked at: the object with generous white space. */
const MOST = 200;

/**
 * As `createTidyText`, and silent too for a text that is nothing but the object `{"action": "<token>"}`, alone or in a block of code: some
 * models write the token so.
 */
export function createSilentText(token: string): TidyText {
  const tidy = createTidyText(token);
  const forms = formsOf(token);
  /** All text so far, while it may be nothing but the object. */
  let held: string | undefined = "";
  let late = "";
  let isObject = false;
  const release = (): string => {
    const text = held ?? "";
    held = undefined;
    return tidy.text(text);
  };
  const takeLate = (): string => {
    const text = late;
    late = "";
    return text;
  };
  return {
    text(part) {
      if (held === undefined) return takeLate() + tidy.text(part);
      held += part;
      return mayBe(held, forms) ? "" : release();
    },
    cut() {
      // Nothing but white space can stand before the object.
      if (held !== undefined && held.trim() !== "") late += release();
      tidy.cut();
    },
    end() {
      isObject = held !== undefined && forms.includes(compact(held));
      if (isObject) return "";
      return takeLate() + (held === undefined ? "" : release()) + tidy.end();
    },
    silent: () => isObject || tidy.silent(),
  };
}

function formsOf(token: string): readonly string[] {
  const object = `{"action":"${token}"}`.toLowerCase();
  return [object, ...["", "json"].map((language) => `\`\`\`${language}${object}\`\`\``)];
}

const compact = (text: string): string => text.replaceAll(/\s+/g, "").toLowerCase();

/** The first sign of each form. */
const FIRST = /^\s*(?:[{`]|$)/;

const mayBe = (text: string, forms: readonly string[]): boolean =>
  text.length <= MOST && FIRST.test(text) && forms.some((form) => form.startsWith(compact(text)));
