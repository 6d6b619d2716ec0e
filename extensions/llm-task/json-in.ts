/** The JSON value that an answer is, also in a code fence; undefined for anything else. Pure. */
export function jsonIn(text: string): { readonly json: unknown } | undefined {
  const fenced = /^\s*```(?:json)?[ \t]*\n([^]*?)\n?```\s*$/i.exec(text)?.[1];
  try {
    return { json: JSON.parse(fenced ?? text) };
  } catch {
    return undefined;
  }
}
