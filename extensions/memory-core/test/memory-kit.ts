import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { Contributions } from "../../../src/plugins/contributions.ts";
import type { ModelMeter } from "../../../src/types/run/model-meter.ts";
import type { ToolScene } from "../../../src/types/run/tool.ts";
import type { MemorySearchSettings } from "../../../src/types/settings.ts";
import { toolContext } from "../../../test/kit/tools.ts";
import { contributor } from "../plugin.ts";

export interface Found {
  readonly results: readonly {
    readonly path: string;
    readonly startLine: number;
    readonly score: number;
    readonly citation: string;
    readonly origin?: string;
  }[];
  readonly mode: string;
  readonly index: {
    readonly pendingFiles: number;
    readonly ageSeconds: number | null;
    readonly vectors?: { readonly model: string; readonly pendingParts: number };
    readonly degraded?: string;
  };
}

/** A folder that is both a state directory and a workspace. */
export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "memory-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "memory"));
  return dir;
}

interface Opened {
  readonly memorySlot?: string;
  readonly memorySearch?: MemorySearchSettings;
  readonly reserve?: ModelMeter["reserve"];
}

/** The extension in a gateway with that folder, and an agent with these settings. */
export async function open(dir: string, { memorySlot = "memory-core", memorySearch, reserve }: Opened = {}) {
  const contributions = new Contributions([contributor]);
  await contributions.configSchemas();
  contributions.applyConfig({}, { stateDir: dir, memorySlot, ...(reserve && { reserve }) });
  const agent = { ...ownerScene().agent, ...(memorySearch && { memorySearch }) };
  const toolOf = (name: string, scene: Partial<ToolScene> = {}) =>
    contributions.tools.find((one) => one.name === name)?.forRun({ ...ownerScene(), agent, ...scene });
  const call = async (name: string, input: unknown, scene: Partial<ToolScene> = {}) =>
    toolOf(name, scene)?.run(input, toolContext(dir));
  /** Again while notes are missing in the index: on a busy machine one search does not take in several. */
  const search = async (query: string, scene: Partial<ToolScene> = {}): Promise<Found> => {
    const result = await call("memory_search", { query }, scene);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the details of a search
    const found = result?.details as unknown as Found;
    return found.index.pendingFiles > 0 ? search(query, scene) : found;
  };
  return { contributions, call, search, toolOf };
}

export const note = (dir: string, path: string, text: string) => writeFileSync(join(dir, path), text);
export const paths = ({ results }: Found) => results.map(({ path }) => path);

interface Asked {
  readonly texts: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the fake endpoint knows: texts with one of the words of a row have the same vector, whichever word it is. */
const MEANINGS = [/dentist|tooth|teeth/i, /boat|ship|mooring/i, /salary|wage/i];

/** An embeddings endpoint on this machine. `status` is that of its next answers, `dimensions` their size. */
export async function startEndpoint() {
  const asked: Asked[] = [];
  const state = { status: 200, dimensions: 8, retryAfter: "", refusals: Number.POSITIVE_INFINITY };
  const vectorOf = (text: string) => {
    const numbers = Array.from({ length: state.dimensions }, () => 0.1);
    for (const [at, words] of MEANINGS.entries()) if (words.test(text)) numbers[at] = 3;
    return numbers;
  };
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body: Readonly<Record<string, unknown>> = JSON.parse(Buffer.concat(parts).toString());
      const texts = [body["input"]].flat().map(String);
      asked.push({ texts, headers: request.headers, body });
      const data = texts.map((text, index) => ({ index, embedding: vectorOf(text) })).toReversed();
      const status = state.refusals > 0 ? state.status : 200;
      state.refusals -= 1;
      const wait = state.retryAfter === "" ? {} : { "retry-after": state.retryAfter };
      answer.writeHead(status, { "content-type": "application/json", location: "http://127.0.0.1:9/", ...wait });
      answer.end(JSON.stringify({ data, usage: { total_tokens: texts.length } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { asked, state, url: `http://127.0.0.1:${port}/v1` };
}

/** Settings of an agent whose notes get vectors there. */
export const withVectors = (url: string, more: Partial<NonNullable<MemorySearchSettings["vectors"]>> = {}) =>
  ({
    isOn: true,
    sources: ["memory"],
    vectors: { provider: "here", model: "m", url, weight: 0.3, ...more },
  }) as const satisfies MemorySearchSettings;
