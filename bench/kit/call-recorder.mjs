// Loaded into the gateway with `--import`, before its own modules. Counts the calls of each function from then on. Whoever connects to the
// socket $CALLS_SOCKET gets one JSON document and its end: the calls since the connection before,
// [{ file, calls: [[<name>, <start: its place in the file>, <count>]] }], of this project's own files only. The file is relative to the project.
import inspector from "node:inspector";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const root = path.resolve(import.meta.dirname, "..", "..");
const PRODUCTION = /^(?:src|extensions)\/(?!.*\bnode_modules\/)/;

const fileOf = (url) =>
  url.startsWith("file:") ? path.relative(root, fileURLToPath(url)).replaceAll("\\", "/") : undefined;

/** A function without a name is a part of the one around it; V8 gives those of its own names like `<static_initializer>`. */
function callsOf({ functions }) {
  return functions.flatMap(({ functionName, ranges: [whole] }) =>
    /^[^<]/.test(functionName) && whole.count > 0 ? [[functionName, whole.startOffset, whole.count]] : [],
  );
}

function record(socket) {
  const session = new inspector.Session();
  session.connect();
  // In a session of the same thread, the callback is called before `post` returns.
  const post = (method, params) => {
    let answer;
    session.post(method, params, (error, result) => {
      if (error) throw error;
      answer = result;
    });
    return answer;
  };
  post("Profiler.enable");
  post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const take = () =>
    post("Profiler.takePreciseCoverage").result.flatMap((script) => {
      const file = fileOf(script.url);
      const calls = file && PRODUCTION.test(file) ? callsOf(script) : [];
      return calls.length > 0 ? [{ file, calls }] : [];
    });
  net
    .createServer((client) => client.end(JSON.stringify(take())))
    .listen(socket)
    .unref();
}

// Only this process: worker threads and child processes would read NODE_OPTIONS too.
if (isMainThread) {
  delete process.env.NODE_OPTIONS;
  record(process.env.CALLS_SOCKET);
}
