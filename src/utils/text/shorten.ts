const leftOut = (left: number): string => ` […${left} characters left out…] `;

/**
 * Head and tail of a text, together at most `most` UTF-16 units, with a note of how many units are left out between
 * them. `headShare` is the head's share of the units.
 */
export function shorten(
  text: string,
  most: number,
  note: (left: number) => string = leftOut,
  headShare: number = 0.7,
): string {
  if (text.length <= most) return text;
  const room = Math.max(0, most - note(text.length).length);
  const head = Math.ceil(room * headShare);
  return `${text.slice(0, head)}${note(text.length - room)}${text.slice(text.length - (room - head))}`.toWellFormed();
}
