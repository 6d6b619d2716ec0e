// Says where the code of a stack frame belongs: the file and line of the source, and the module.
import fs from "node:fs";
import { SourceMap } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(import.meta.dirname, "..", "..");
const maps = new Map();

function mapOf(file) {
  if (!maps.has(file)) {
    const map = `${file}.map`;
    maps.set(file, fs.existsSync(map) ? new SourceMap(JSON.parse(fs.readFileSync(map, "utf8"))) : undefined);
  }
  return maps.get(file);
}

/** `file` is relative to the project; lines count from 1. */
function sourceOf({ url, lineNumber, columnNumber }) {
  const bundle = fileURLToPath(url);
  const entry = mapOf(bundle)?.findEntry(lineNumber, columnNumber);
  if (!entry?.originalSource) return { file: path.relative(root, bundle), line: lineNumber + 1 };
  const source = path.resolve(path.dirname(bundle), entry.originalSource);
  return { file: path.relative(root, source), line: entry.originalLine + 1 };
}

const PACKAGE = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;

function moduleOfFile(file) {
  const name = PACKAGE.exec(file)?.[1];
  if (name) return { module: name, folder: name, rank: 1 };
  const [top, module, folder] = file.split("/");
  const isFolder = folder !== undefined && !folder.includes(".");
  return { module: `${top}/${module}`, folder: `${top}/${module}${isFolder ? `/${folder}` : ""}`, rank: 2 };
}

/** `node:internal/streams/writable` and `node:_http_server` → `node:streams` and `node:http`; `fetch` is a bundled undici. */
function moduleOfNode(url) {
  const [first, second] = url
    .slice("node:".length)
    .replace(/^internal\//, "")
    .replace(/^_([a-z]+)_.*/, "$1")
    .split("/");
  return `node:${first === "deps" ? second : first}`;
}

const V8 = new Map([
  ["(garbage collector)", "garbage collector"],
  ["(program)", "native code outside of a JavaScript call"],
  ["(root)", "outside of a JavaScript call"],
]);

/**
 * `rank` says whose code it is: 2 of this project, 1 of a package, 0 of Node or V8. `idle` is true for waiting.
 * @param {{ functionName: string, url: string, lineNumber: number, columnNumber: number }} frame
 */
export function placeOf(frame) {
  const name = frame.functionName || "(anonymous)";
  if (name === "(idle)") return { idle: true, name, module: "idle", folder: "idle", rank: 0 };
  const apart = frame.url ? undefined : V8.get(name);
  if (apart) return { name, module: apart, folder: apart, rank: 0, apart: true };
  if (!frame.url) return { name, module: "native functions", folder: "native functions", rank: 0 };
  if (frame.url.startsWith("wasm:")) return { name, module: "WebAssembly", folder: "WebAssembly", rank: 0 };
  if (!frame.url.startsWith("file:")) {
    const module = moduleOfNode(frame.url);
    return { name, file: frame.url, line: frame.lineNumber + 1, module, folder: module, rank: 0 };
  }
  const { file, line } = sourceOf(frame);
  return { name, file, line, ...moduleOfFile(file) };
}

/** `name (file:line)`, short enough for a table. */
export function labelOf({ name, file, line }) {
  return file ? `${name}  ${file.replace(PACKAGE, "$1/")}:${line}` : name;
}
