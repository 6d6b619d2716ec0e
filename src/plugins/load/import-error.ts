import { errorCode } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { SdkModuleMissing } from "./sdk-resolution.ts";

interface Pattern {
  readonly match: RegExp;
  say(found: RegExpExecArray): string;
}

/** What Node says when a module cannot be linked, and what it means to the operator. */
const PATTERNS: readonly Pattern[] = [
  {
    match: /requested module '([^']+)' does not provide an export named '([^']+)'/,
    say: ([, module, name]) => `it imports "${name}" from "${module}", which has no such export`,
  },
  {
    match: /Named export '([^']+)' not found\. The requested module '([^']+)' is a CommonJS module/,
    say: ([, name, module]) =>
      `it imports "${name}" by name from "${module}", a CommonJS module from which Node offers no such name`,
  },
  {
    match: /Cannot find (?:package|module) '([^']+)'/,
    say: ([, name]) => `it imports "${name}", which is not installed beside it`,
  },
];

/** Why the code of a plugin could not be imported, as half a sentence. */
export function importProblem(error: unknown): string {
  if (error instanceof SdkModuleMissing) return `it imports "${error.specifier}", which this gateway does not have`;
  const text = errorText(error);
  for (const { match, say } of PATTERNS) {
    const found = match.exec(text);
    if (found) return say(found);
  }
  const code = errorCode(error);
  return `its code cannot be loaded: ${code === undefined || text.includes(code) ? text : `${text} (${code})`}`;
}
