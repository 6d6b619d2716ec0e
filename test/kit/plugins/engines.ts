import type { PluginFiles } from "../gateway/plugins.ts";

interface Shape {
  readonly id: string;
  /** The id under which it registers its engine; its own when unset. */
  readonly engine?: string;
  /** Milliseconds that its code takes to be loaded. */
  readonly slowMs?: number;
  readonly tools?: string;
}

/** A plugin whose context engine tells the model which one it is: `Engine <engine>.` at the begin of the system prompt. */
export function engineNamed({ id, engine = id, slowMs = 0, tools = "" }: Shape): PluginFiles {
  return {
    id,
    manifest: { kind: "context-engine" },
    code: `
await new Promise((resolve) => setTimeout(resolve, ${slowMs}));
export default (api) => {
  ${tools}
  api.registerContextEngine("${engine}", () => ({
    info: { id: "${engine}", name: "${engine}" },
    async ingest() { return { ingested: false }; },
    async assemble({ messages }) {
      return { messages, estimatedTokens: 10, systemPromptAddition: "Engine ${engine}." };
    },
    async compact() { return { ok: true, compacted: false }; },
  }));
};`,
  };
}

const USUAL = `async ingest() {}, async assemble({ messages }) { return { messages, estimatedTokens: 1 }; }`;

/** Plugins whose engine cannot be used, each in another way, with what is to be said of it everywhere. */
export const BROKEN_ENGINES: readonly (PluginFiles & { readonly why: string })[] = [
  {
    id: "wrongid",
    code: registering("wrongid", `({ info: { id: "other", name: "X" }, ${USUAL}, async compact() {} })`),
    why: 'its info.id is "other", not the id that it is registered under',
  },
  {
    id: "nocompact",
    code: registering("nocompact", `({ info: { id: "nocompact", name: "X" }, ${USUAL} })`),
    why: "it lacks compact",
  },
  {
    id: "throws",
    code: registering("throws", `{ throw new Error("no licence for the engine"); }`),
    why: "no licence for the engine",
  },
  { id: "hangs", code: registering("hangs", "new Promise(() => undefined)"), why: "no answer within 1000 ms" },
  {
    id: "regthrow",
    code: `export default () => { throw new Error("no luck today"); };`,
    why: "its register failed: no luck today",
  },
  { id: "noreg", code: "export default () => {};", why: "registers no context engine" },
  { id: "syntax", code: "export default (api => {", why: "its code cannot be loaded" },
  {
    id: "noexport",
    code: "export const nothing = 1;",
    why: "index.js exports neither a function nor an object with register",
  },
].map((one) => ({ ...one, manifest: { kind: "context-engine" } }));

function registering(id: string, made: string): string {
  return `export default (api) => api.registerContextEngine("${id}", () => ${made});`;
}
