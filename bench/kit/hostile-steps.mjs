// What a hostile chat does, step by step. `send`: its message, with ANSWER: or TOOL: for the fake model. `beside`: the same load on the
// machine without the gateway.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { LLM, ROOT, STATE, TG } from "./home.mjs";
import { llm, tg } from "./messages.mjs";

const WORKSPACE = path.join(STATE, "workspace");
const MEGABYTE = 2 ** 20;
const FILES_A_FOLDER = 1000;
const LONG_LINE = `${"a".repeat(100_000)}!\n`;
/** A file with a long line for every so many others. */
const LONG_EACH = 1000;
const PATTERN = "(a+)+$";

const run = async (program, args, options = {}) => {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"], ...options });
  await once(child, "exit");
};

/** Reads an answer to its end and keeps nothing. */
async function drain(url, body) {
  const how = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(url, how);
  for await (const _piece of answer.body);
}

const tool = (name, input, beside) => ({ send: `TOOL:${name} ${JSON.stringify(input)}`, beside });

/** The message of a step whose answer the fake model has prepared. */
function answer(name) {
  const messages = [{ role: "user", content: `ANSWER:${name} M#beside` }];
  const request = { model: "fake-1", stream: true, messages };
  return { send: `ANSWER:${name}`, beside: () => drain(`http://127.0.0.1:${LLM}/v1/chat/completions`, request) };
}

const file = (id) => ({
  send: "look at it",
  document: { file_id: id, file_unique_id: `u${id}`, file_name: `${id}.png`, mime_type: "image/png" },
  beside: () => drain(`http://127.0.0.1:${TG}/file/botx/documents/${id}`),
});

/** Just below the longest answer that the gateway takes. */
const ANSWER_UNITS = 1_000_000;
/** Just below the longest arguments that the gateway takes. */
const ARGUMENT_UNITS = 500_000;
const repeated = (text, length = ANSWER_UNITS) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
/** As many levels as a line of a model may have, again and again. */
const nested = (mark, levels, word) => repeated(`${Array.from({ length: levels }, () => mark).join("")}${word}\n\n`);
const lists = () =>
  repeated(Array.from({ length: 60 }, (_, level) => `${"  ".repeat(level)}- item ${level}\n`).join("") + "\n");

/** Markdown whose nesting, or whose marks that nothing closes, cost a parser more than their length. */
const MARKDOWN = {
  quotes: () => nested("> ", 500, "deep"),
  "quotes and lists": () => nested("> - ", 200, "deep"),
  lists,
  brackets: () => repeated("["),
  "brackets that close": () => repeated(`${"[".repeat(500)}a${"]".repeat(500)}\n`),
  links: () => repeated("[a](<b"),
  images: () => repeated("![a]("),
  asterisks: () => repeated("*a **b "),
  underscores: () => repeated("_a __b ~~c "),
  "asterisks that close": () => repeated(`${"*a ".repeat(300)}${"b* ".repeat(300)}`),
  backticks: () => Array.from({ length: 1400 }, (_, n) => `a${"`".repeat(n + 1)}`).join(""),
  fences: () => repeated("```\na\n~~~\n"),
  tables: () => repeated(`${"|a".repeat(200)}\n${"|-".repeat(200)}\n${`${"|b".repeat(200)}\n`.repeat(50)}\n`),
  html: () => repeated("<u>a<br><!-- b "),
  "spoilers and formulas": () => repeated("||a $b \\(c \\[d $$e "),
  references: () => repeated("[a]: <b\n[c]\n"),
  entities: () => repeated("&amp;&#35;&lt;\\*"),
  "one line": () => repeated("word "),
};

const markdownName = (kind) => `md_${kind.replaceAll(" ", "_")}`;

/** A picture's first chunk says its size; the rest need not be a picture. */
function picture({ width, height, bytes }) {
  const head = Buffer.alloc(33);
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").copy(head);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  Buffer.from("0802000000", "hex").copy(head, 24);
  return Buffer.concat([head, Buffer.alloc(bytes - head.length, "noise of a picture")]);
}

/** Makes the files and the answers. Resolves when they are there. */
export async function prepareSteps({ files }) {
  fs.mkdirSync(path.join(WORKSPACE, "many"), { recursive: true });
  for (let n = 0; n < files; n++) {
    const folder = path.join(WORKSPACE, "many", String(Math.floor(n / FILES_A_FOLDER)));
    if (n % FILES_A_FOLDER === 0) fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, `${n}.txt`), n % LONG_EACH === 0 ? LONG_LINE : "aaaa!\n");
  }
  fs.writeFileSync(path.join(WORKSPACE, "lines.txt"), repeated("a line of a long file\n", 5 * MEGABYTE));
  fs.writeFileSync(path.join(WORKSPACE, "line.txt"), repeated("a", 5 * MEGABYTE));
  const pictures = {
    large: { width: 4000, height: 3000, bytes: 19 * MEGABYTE },
    wide: { width: 60_000, height: 60_000, bytes: MEGABYTE },
  };
  for (const [id, size] of Object.entries(pictures)) fs.writeFileSync(path.join(ROOT, id), picture(size));
  await tg("files", Object.fromEntries(Object.keys(pictures).map((id) => [id, path.join(ROOT, id)])));
  const markdown = Object.entries(MARKDOWN).map(([kind, text]) => [markdownName(kind), { text: text(), chars: 2000 }]);
  const stream = { text: repeated("word "), chars: 5 };
  const content = repeated("word ", ARGUMENT_UNITS);
  const call = { tool: "write", text: JSON.stringify({ path: "written.txt", content }), chars: 5 };
  await llm("answers", { ...Object.fromEntries(markdown), stream, call });
}

/** The steps by name. `burnSeconds`: how long a command uses a processor. */
export const stepsOf = ({ burnSeconds }) => {
  const burn = `timeout ${burnSeconds} sh -c 'while :; do :; done'`;
  const cat = (name) => `cat ${name}`;
  const inWorkspace = { cwd: WORKSPACE };
  const shell = (line) => () => run("sh", ["-c", line], inWorkspace);
  return {
    "exec: a busy processor": tool("exec", { command: burn }, shell(burn)),
    "grep: many files": tool("grep", { pattern: PATTERN }, () =>
      run(rgPath, ["-c", "--threads=2", PATTERN, "./"], inWorkspace),
    ),
    "exec: 5 MB": tool("exec", { command: cat("lines.txt") }, shell(cat("lines.txt"))),
    "exec: 5 MB in a line": tool("exec", { command: cat("line.txt") }, shell(cat("line.txt"))),
    "read: 5 MB": tool("read", { path: "lines.txt" }, shell(cat("lines.txt"))),
    "read: 5 MB in a line": tool("read", { path: "line.txt" }, shell(cat("line.txt"))),
    "200,000 deltas": answer("stream"),
    "a tool call of 100,000 deltas": answer("call"),
    ...Object.fromEntries(Object.keys(MARKDOWN).map((kind) => [`Markdown: ${kind}`, answer(markdownName(kind))])),
    "a picture of 19 MB": file("large"),
    "a picture of 60,000 × 60,000": file("wide"),
  };
};
