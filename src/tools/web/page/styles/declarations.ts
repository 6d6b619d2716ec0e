/** The declarations of a style, by property. */
export type Declarations = ReadonlyMap<string, string>;

/** Most characters of one value that are read. */
const MOST_VALUE = 300;

/** The declarations of a `style` attribute or of a rule. */
export interface DeclarationBlock {
  readonly plain: Declarations;
  /** Declarations that have priority over all plain ones, of any rule. */
  readonly important: Declarations;
}

/** The declarations in a `style` attribute or in the block of a rule; the last one of a property counts. */
export function declarationsIn(text: string): DeclarationBlock {
  const lower = unescaped(plainBraces(text)).toLowerCase();
  const plain = new Map<string, string>();
  const important = new Map<string, string>();
  for (const part of lower.split(";")) {
    const colon = part.indexOf(":");
    if (colon < 0) continue;
    const value = part
      .slice(colon + 1)
      .replaceAll(/\s+/g, " ")
      .slice(0, MOST_VALUE);
    const bare = value.replace(IMPORTANT, "");
    const name = part.slice(0, colon).trim();
    (bare === value ? plain : important).set(name, bare.trim());
  }
  return { plain, important };
}

/** Comments, and braces inside a text, an address or a name, which are no braces of the style. */
const NO_BRACES = /\/\*[^]*?(?:\*\/|$)|"(?:[^"\\\n]|\\[^])*"?|'(?:[^'\\\n]|\\[^])*'?|url\([^)"'\n]{1,2000}\)|\\[{};]/gi;
export const plainBraces = (style: string): string =>
  style.replaceAll(NO_BRACES, (part) => (part.startsWith("/*") ? "" : part.replaceAll(/[{};]/g, "")));

const IMPORTANT = /! ?important/;

/** The declarations that count for an element with this block alone. */
export const joinedDeclarations = ({ plain, important }: DeclarationBlock): Declarations =>
  new Map([...plain, ...important]);

/** A style without escapes: `d\69splay` means `display`. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-9a-f]{1,6})\s?/gi, (_whole, hex: string) => {
    const code = Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : "";
  });

/** Pixels to the side at which a text is on no screen. */
const FAR_PX = 900;
/** The same distance for a text that is placed on the screen itself. */
const FAR_OF_SCREEN_PX = 400;
const ROOT_PX = 16;

/** A value without `calc` around a single length. */
const bareOf = (value: string | undefined): string => (value ?? "").replace(/^calc\( ?([^ ()]*) ?\)$/, "$1");

/** A length in pixels; undefined for any other value. */
function pixels(value: string | undefined): number | undefined {
  const [, number, unit] =
    /^([-+]?\d{0,9}\.?\d{1,9}(?:e[-+]?\d{1,2})?)(px|r?em|pt|vw|vh|%)?$/.exec(bareOf(value)) ?? [];
  if (number === undefined) return undefined;
  return Number(number) * (unit === "em" || unit === "rem" || unit === "vw" || unit === "vh" ? ROOT_PX : 1);
}

const isFar = (value: string | undefined, least = FAR_PX): boolean => (pixels(value) ?? 0) <= -least;
const hasFar = (values: string | undefined, least?: number): boolean =>
  (values ?? "").split(" ").some((value) => isFar(value, least));
const isTiny = (value: string | undefined): boolean => {
  const size = pixels(value);
  return size !== undefined && size <= 1;
};
const isNone = (value: string | undefined): boolean => {
  const part = /^(\d{0,3}\.?\d{1,9}(?:e-?\d{1,2})?)(%?)$/.exec(bareOf(value));
  return part !== null && Number(part[1]) / (part[2] === "%" ? 100 : 1) <= 0.05;
};

const CLEAR = /^(?:transparent|(?:rgba|hsla)\(.*[,/] ?0?\.?0+%?\)|#[0-9a-f]{3}0|#[0-9a-f]{6}00)$/;
const CLIPPED = /^rect\( ?(?:[01](?:px)?[ ,]*){4}\)$/;
const CUT_AWAY = /^(?:inset\( ?(?:[5-9]\d|100)%|circle\( ?0|polygon\( ?0(?:px)? 0(?:px)?[, ]+0)/;
const MOVED_AWAY = /scale[xy]?\( ?0(?:\.0+)?[ ,)]|translate[xy]?\( ?-(?:\d{4,}px|9\d\dpx|[1-9]\d\d+%)/;

type Test = (style: Declarations) => boolean;

/** Ways to hide a text by a style. */
const HIDING: readonly Test[] = [
  (style) => style.get("display") === "none",
  (style) => ["hidden", "collapse"].includes(style.get("visibility") ?? ""),
  (style) => style.get("content-visibility") === "hidden",
  (style) => isNone(style.get("opacity")),
  (style) => /opacity\( ?0%? ?\)/.test(style.get("filter") ?? ""),
  (style) => isTiny(style.get("font-size")),
  (style) => isTiny(/(?:^| )(\S+?)(?: ?\/ ?\S+)? /.exec(style.get("font") ?? "")?.[1]),
  // Browsers take 0 for no zoom.
  (style) => isNone(style.get("zoom")) && Number.parseFloat(style.get("zoom") ?? "") > 0,
  (style) => (style.get("scale") ?? "1").split(" ").slice(0, 2).some(isNone),
  (style) => hasFar(style.get("translate")) || isPulledAway(style.get("margin")),
  (style) => CLEAR.test(style.get("color") ?? "") || CLEAR.test(style.get("-webkit-text-fill-color") ?? ""),
  (style) => isColoredAsGround(style),
  (style) => CLIPPED.test(style.get("clip") ?? ""),
  (style) => CUT_AWAY.test(style.get("clip-path") ?? ""),
  (style) => MOVED_AWAY.test(style.get("transform") ?? ""),
  (style) => ["text-indent", "margin-left", "margin-top", "margin-right"].some((name) => isFar(style.get(name))),
  (style) => isPlacedAway(style),
  (style) => isShrunk(style),
];

/** Properties that can hide a text. */
export const HIDING_PROPERTIES: ReadonlySet<string> = new Set(
  (
    "display visibility content-visibility opacity filter font font-size zoom scale translate margin inset color -webkit-text-fill-color background " +
    "background-color clip clip-path transform text-indent margin-left margin-top margin-right position left top right " +
    "bottom overflow width height max-width max-height"
  ).split(" "),
);

/** Whether elements with these declarations show no text. */
export const hides = (style: Declarations): boolean => style.size > 0 && HIDING.some((test) => test(style));

/** Whether elements with these declarations, together with other rules, may show no text. */
export const mayHide = (style: Declarations): boolean =>
  style.size > 0 && hides(new Map([["position", "absolute"], ["overflow", "hidden"], ...style]));

function isColoredAsGround(style: Declarations): boolean {
  const color = style.get("color");
  return color !== undefined && [style.get("background-color"), style.get("background")].includes(color);
}

/**
 * Whether a margin moves an element away, by its top or its left alone: pages widen their content by margins on both
 * sides.
 */
function isPulledAway(margin: string | undefined): boolean {
  const [top, right, , left] = (margin ?? "").split(" ");
  return isFar(top) || (isFar(left) && !isFar(right));
}

const SIDES = ["left", "top", "right", "bottom"];
const isPlacedAway = (style: Declarations): boolean =>
  ["absolute", "fixed", "relative"].includes(style.get("position") ?? "") &&
  [...SIDES, "inset"].some((side) =>
    hasFar(style.get(side), style.get("position") === "fixed" ? FAR_OF_SCREEN_PX : FAR_PX),
  );

const isShrunk = (style: Declarations): boolean =>
  ["hidden", "clip", "auto", "scroll"].includes(style.get("overflow") ?? "") &&
  ["width", "height", "max-width", "max-height"].some((name) => isTiny(style.get(name)));
