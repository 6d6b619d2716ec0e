import { createRequire } from "node:module";
import { join } from "node:path";
import { z } from "zod";

const parsedEntities = z.looseObject({
  _: z.string(),
  text: z.string().optional(),
  message: z.string().optional(),
  entities: z
    .array(z.looseObject({ offset: z.number(), length: z.number(), type: z.looseObject({ _: z.string() }) }))
    .optional(),
});

/** What Telegram's parser makes of a text: formatted text or the error that the Bot API would answer with. */
export type ParsedEntities = z.output<typeof parsedEntities>;

/** The part of `tdl` that is used; its own types are where the package is, outside of the repository. */
interface Tdl {
  configure(options: { tdjson: string; verbosityLevel: number }): void;
  execute(request: object): unknown;
}

const folder = process.env["OPENCLAW_PEERS"];

/** The package that holds TDLib's library for this machine. */
const LIBRARY = `@prebuilt-tdlib/${process.platform}-${process.arch}-glibc/libtdjson.so`;

/** Telegram's own HTML parser, offline; undefined, with the reason printed, where `npm run peers` did not start the test. */
export function openTdlib(): ((html: string) => ParsedEntities) | undefined {
  if (folder === undefined) {
    console.warn("the tests with TDLib are left out: `npm run peers` installs it and runs them");
    return undefined;
  }
  const require = createRequire(join(folder, "package.json"));
  const tdl: Tdl = require("tdl");
  tdl.configure({ tdjson: require.resolve(LIBRARY), verbosityLevel: 0 });
  return (text) =>
    parsedEntities.parse(tdl.execute({ _: "parseTextEntities", text, parse_mode: { _: "textParseModeHTML" } }));
}
