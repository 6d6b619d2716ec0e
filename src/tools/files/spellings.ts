import { isFields, type Fields } from "../../utils/fields.ts";

/** Argument names that models write from habit, and the schema's names of the same arguments. */
const SPELLINGS: readonly (readonly [other: string, name: string])[] = [
  ["file_path", "path"],
  ["filePath", "path"],
  ["old_text", "oldText"],
  ["new_text", "newText"],
  ["old_string", "oldText"],
  ["new_string", "newText"],
  ["oldString", "oldText"],
  ["newString", "newText"],
];

/**
 * The arguments of a file tool by the schema's names, also inside `edits`. An argument that already has the schema's
 * name wins. Pure.
 */
export function respelled(args: unknown): unknown {
  if (!isFields(args)) return args;
  const edits = listIn(args["edits"]);
  return { ...renamed(args), ...(Array.isArray(edits) && { edits: edits.map(renamedIn) }) };
}

/** The list of a value that may be JSON text, because some models write a list so. */
function listIn(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const renamedIn = (edit: unknown): unknown => (isFields(edit) ? renamed(edit) : edit);

function renamed(args: Fields): Fields {
  const named = { ...args };
  for (const [other, name] of SPELLINGS) {
    if (!Object.hasOwn(named, other)) continue;
    named[name] ??= named[other];
    delete named[other];
  }
  return named;
}
