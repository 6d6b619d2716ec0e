import { OpenClawError } from "../../../types/errors.ts";
import { isFields } from "../../../utils/fields.ts";
import { readTextFile } from "../../../store/text-file.ts";

/**
 * The jobs of a file of OpenClaw, unchecked. Undefined when there is no file. Throws `NOT_FOUND` when the file has no
 * list of jobs.
 */
export async function readJobsFile(path: string): Promise<readonly unknown[] | undefined> {
  const text = await readTextFile(path);
  if (text === undefined) return undefined;
  const value = await parsed(text.replace(/^\uFEFF/, ""));
  const jobs = isFields(value) ? value["jobs"] : value;
  if (Array.isArray(jobs)) return jobs;
  throw new OpenClawError("NOT_FOUND", {
    message: `${path} has no list of jobs${value === undefined ? ": it is no JSON" : ""}.`,
    fix: "Name a jobs.json of OpenClaw.",
  });
}

/** The value of a text of JSON or JSON5, because people edit such files. Undefined for other texts. */
async function parsed(text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { default: json5 } = await import("json5");
    try {
      return json5.parse(text);
    } catch {
      return undefined;
    }
  }
}
