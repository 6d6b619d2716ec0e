/** A regular expression that people wrote, without case. Throws where it is none. */
export function compilePattern(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    // The stricter grammar refuses needless escapes, such as `\@`, that others take.
    return new RegExp(source, "i");
  }
}
