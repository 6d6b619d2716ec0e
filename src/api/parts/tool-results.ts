/** Results of tools. */

interface TextResult<T> {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly details: T;
}

export const textResult = <T>(text: string, details: T): TextResult<T> => ({
  content: [{ type: "text", text }],
  details,
});

/** The value for the model as JSON, and for programs as it is. */
export const jsonResult = <T>(payload: T): TextResult<T> => textResult(JSON.stringify(payload, null, 2), payload);

interface EnumSchema {
  readonly type: "string";
  readonly enum: readonly string[];
  readonly description?: string;
}

/** The JSON Schema of a text that is one of `values`. */
export const stringEnum = (values: readonly string[], options: { readonly description?: string } = {}): EnumSchema => ({
  type: "string",
  enum: [...values],
  ...options,
});
