/** Blanks and invisible marks. */
const BLANK = /[\s\p{Cf}]*/uy;
/**
 * Characters that people of any script write between a mention and the words after it: also commas and colons, but no
 * end of a sentence.
 */
const BETWEEN = /(?:[\s\p{Cf}]|(?![.!?])\p{Terminal_Punctuation})*/uy;

/**
 * Where the words of a message begin that opens with the bot's own mention, so that a command after it is found; 0 when it does not,
 * or says nothing else. `lengthAt` gives the length of such a mention at an offset, 0 when none is there.
 */
export function openingMentionEnd(text: string, lengthAt: (offset: number) => number): number {
  let end = 0;
  let from = skip(BLANK, text, 0);
  for (let length = lengthAt(from); length > 0; length = lengthAt(from)) {
    end = skip(BETWEEN, text, from + length);
    from = end;
  }
  return end < text.length ? end : 0;
}

function skip(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  pattern.test(text);
  return pattern.lastIndex;
}
