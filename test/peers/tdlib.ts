import { createRequire } from "node:module";

/** What Telegram's parser makes of a text: formatted text or the error that the Bot API would answer with. */
export interface ParsedEntities {
  readonly _: string;
  readonly text?: string;
  readonly message?: string;
  readonly entities?: readonly {
    readonly offset: number;
    readonly length: number;
    readonly type: { readonly _: string };
  }[];
}

/** The package that holds TDLib's library for this machine. */
const LIBRARY = `@prebuilt-tdlib/${process.platform}-${process.arch}-glibc/libtdjson.so`;

/** Telegram's own HTML parser, offline; `undefined`, with the reason printed, where TDLib is not installed. */
export async function openTdlib(): Promise<((html: string) => ParsedEntities) | undefined> {
  try {
    const tdl = await import("tdl");
    tdl.configure({ tdjson: createRequire(import.meta.url).resolve(LIBRARY), verbosityLevel: 0 });
    const parse = (text: string): ParsedEntities =>
      tdl.execute({ _: "parseTextEntities", text, parse_mode: { _: "textParseModeHTML" } }) as ParsedEntities;
    parse("loads");
    return parse;
  } catch (error) {
    // `npm ci` brings the library on this platform: without it the installation is not whole.
    if (process.env["CI"] && process.platform === "linux" && process.arch === "x64") throw error;
    console.warn(`TDLib is not installed here, its tests are left out: ${String(error)}`);
    return undefined;
  }
}
