/** The screen for which a page is read, in pixels. */
const SCREEN: Readonly<Record<string, number>> = { width: 1280, height: 800 };
const PIXELS: Readonly<Record<string, number>> = { px: 1, em: 16, rem: 16, pt: 4 / 3, cm: 37.8, in: 96 };
/** Values of features that the screen does not have. */
const NOT_THERE =
  /^(?:prefers-color-scheme:dark|prefers-reduced-motion:reduce|prefers-contrast:(?:more|less|custom)|forced-colors:active|orientation:portrait|hover:none|any-hover:none|pointer:(?:coarse|none)|any-pointer:none|scripting:none|monochrome|display-mode:(?:standalone|fullscreen)|inverted-colors:inverted|prefers-reduced-(?:data|transparency):reduce)$/;

/** Whether the rules inside of `@media …`, `@layer …` and others count on a wide screen. */
export function applies(prelude: string): boolean {
  const [, name = "", condition = ""] = /^@([a-z-]+)\s*([^]*)$/i.exec(prelude) ?? [];
  switch (name.toLowerCase()) {
    case "media":
      return condition.split(",").some((query) => mediaApplies(query.trim().toLowerCase()));
    case "layer":
    case "container":
      return true;
    case "supports":
      return !/^not\b/i.test(condition);
    default:
      return false;
  }
}

function mediaApplies(query: string): boolean {
  const [, negation = "", type = "", rest = ""] =
    /^(?:(not|only)\s+)?(?:(all|screen|print|speech|tty|tv|projection|handheld)\b)?\s*([^]*)$/.exec(query) ?? [];
  const isType = type === "" || type === "all" || type === "screen";
  const doesApply = isType && featuresApply(rest.replace(/^and\b/, ""));
  return negation === "not" ? !doesApply : doesApply;
}

function featuresApply(text: string): boolean {
  const features = text.match(/(?:not\s*)?\([^()]*\)/g) ?? [];
  const each = features.map((one) => isThere(one.replace(/^not\s*/, "").slice(1, -1)) !== one.startsWith("not"));
  return /\)\s*or\s*\(/.test(text) ? each.some(Boolean) : each.every(Boolean);
}

/** A feature that nobody knows is there. */
function isThere(feature: string): boolean {
  const plain = feature.replaceAll(/\s+/g, "");
  const named = /^(min|max)-(?:device-)?(width|height):(.+)$/.exec(plain);
  if (named) return compares(SCREEN[named[2] ?? ""], named[1] === "min" ? ">=" : "<=", named[3]);
  const range = /^(?:([\d.]+[a-z]*)([<>]=?))?(width|height)(?:([<>]=?|:|=)([\d.]+[a-z]*))?$/.exec(plain);
  if (!range) return !NOT_THERE.test(plain);
  const [, least, turned = "", side = "", sign = "", most] = range;
  return compares(SCREEN[side], TURNED[turned], least) && compares(SCREEN[side], sign, most);
}

const TURNED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

function compares(size: number | undefined, sign: string | undefined, value: string | undefined): boolean {
  const [, number, unit = ""] = /^([\d.]+)([a-z]*)$/.exec(value ?? "") ?? [];
  if (size === undefined || number === undefined || sign === undefined) return true;
  const other = Number(number) * (PIXELS[unit] ?? 1);
  return COMPARISONS[sign]?.(size, other) ?? true;
}

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ":": (a, b) => a === b,
  "=": (a, b) => a === b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
};
