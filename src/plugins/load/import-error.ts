import { defined } from "../../utils/defined.ts";
import { errorCode } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { SdkModuleMissing } from "./sdk-resolution.ts";

interface Pattern {
  readonly match: RegExp;
  say(found: RegExpExecArray): string;
  fix?(found: RegExpExecArray): string | undefined;
}

/** Why code cannot be imported, as half a sentence, and where it is known what to do, that as a sentence. */
export interface ImportProblem {
  readonly why: string;
  readonly fix?: string;
}

/** What brings the dependencies of a plugin along: an archive and a folder are taken as they are. */
const WITH_DEPENDENCIES =
  "Install it with its dependencies: openclaw plugins install npm-pack:<archive> --force for an archive, npm:<name> from npm; in the source of a folder run npm install --omit=dev first.";

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
    // A path is a file of its own.
    fix: ([, name = ""]) => (/^[./]|^file:|^openclaw/.test(name) ? undefined : WITH_DEPENDENCIES),
  },
];

/** Why the code of a plugin could not be imported. */
export function importProblem(error: unknown): ImportProblem {
  if (error instanceof SdkModuleMissing)
    return { why: `it imports "${error.specifier}", which this gateway does not have` };
  const text = errorText(error);
  for (const { match, say, fix } of PATTERNS) {
    const found = match.exec(text);
    if (found) return { why: say(found), ...defined({ fix: fix?.(found) }) };
  }
  const code = errorCode(error);
  return {
    why: `its code cannot be loaded: ${code === undefined || text.includes(code) ? text : `${text} (${code})`}`,
  };
}
