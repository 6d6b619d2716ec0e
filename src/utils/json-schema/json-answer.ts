import { fromJsonSchema } from "./from-json-schema.ts";
import { isFields } from "../fields.ts";

/** The form of a JSON answer: an object, or a value that fits the schema. */
interface Form {
  readonly schema?: Readonly<Record<string, unknown>>;
}

/** The JSON in a model's answer: the whole text, the first block of code, or the part from the first bracket to the last. */
export function jsonIn(text: string): string | undefined {
  const [, block] = /```(?:json)?\s*\n([^]*?)\n\s*```/i.exec(text) ?? [];
  const begin = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  const part = begin >= 0 && end > begin ? text.slice(begin, end + 1) : undefined;
  return [text, block, part].map((one) => one?.trim()).find((one) => one !== undefined && isJson(one));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Why a text is no answer in this form, as a sentence for the model; undefined when it is one. */
export function formatFault(text: string, { schema }: Form): string | undefined {
  const json = jsonIn(text);
  if (json === undefined) return "Your answer is not JSON.";
  const value: unknown = JSON.parse(json);
  if (!schema) return isFields(value) ? undefined : "Your answer is not a JSON object.";
  // A schema that cannot be checked in a reasonable time is not checked.
  const checked = fromJsonSchema(schema)?.safeParse(value);
  if (!checked || checked.success) return undefined;
  const faults = checked.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join(".") || "the value"}: ${message}`);
  return `Your answer does not fit the JSON Schema (${faults.join("; ")}).`;
}

/** The instruction by which a model answers in this form. */
export function formatRule({ schema }: Form): string {
  const what = schema ? "one JSON value that fits this JSON Schema" : "one JSON object";
  const rule = `Your final answer must be ${what}, without any text or code fence around it.`;
  return schema ? `${rule}\n\n${JSON.stringify(schema)}` : rule;
}
