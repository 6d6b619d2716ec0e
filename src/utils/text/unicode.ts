/**
 * Classes for regular expressions with the flag `v`, by the properties that Unicode gives its characters rather than by
 * lists of characters. Each is the inside of `[…]`.
 */

/** Invisible characters: joiners, fillers, variation selectors, marks of direction, tags, soft hyphens. */
export const IGNORABLE = String.raw`\p{Default_Ignorable_Code_Point}\p{Cf}\p{Bidi_Control}`;

/** Blank without being white space by its property: braille blank, the null note head, the Khitan filler. */
const BLANK_LETTERS = String.raw`\u2800\u{1d159}\u{16fe4}`;

/** Characters that are blank on a screen, line ends among them. */
export const BLANKS = String.raw`\p{White_Space}${BLANK_LETTERS}`;

/**
 * Control characters, code points that are no characters, and private characters, which each screen shows in its own
 * way.
 */
export const NO_LETTERS = String.raw`\p{Cc}\p{Cs}\p{Co}\p{Cn}`;
