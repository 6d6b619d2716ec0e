// An endpoint for embeddings that needs no model: parts of words, each at a place of the vector that a hash gives it.
import { Worker } from "node:worker_threads";

export const DIMENSIONS = 384;

/** Starts it in a thread of its own; `close` ends it. Gives the same vector for the same text on every machine. */
export async function startEmbeddings() {
  const server = new Worker(PROGRAM, { eval: true, workerData: { dimensions: DIMENSIONS } });
  const port = await new Promise((resolve) => server.once("message", resolve));
  return { baseUrl: `http://127.0.0.1:${port}/v1`, model: "parts-of-words", close: () => server.terminate() };
}

const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { dimensions } = workerData;
function hash(text) {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  value = Math.imul(value ^ (value >>> 15), 2246822519);
  return (value ^ (value >>> 13)) >>> 0;
}
function add(vector, feature, weight) {
  const value = hash(feature);
  vector[value % dimensions] += value & 0x80000000 ? weight : -weight;
}
function vectorOf(text) {
  const counts = new Map();
  const count = (feature) => counts.set(feature, (counts.get(feature) ?? 0) + 1);
  for (const word of text.toLowerCase().match(/[\\p{L}\\p{N}]+/gu) ?? []) {
    count("=" + word);
    const framed = "^" + word + "$";
    for (const size of [3, 4]) for (let at = 0; at + size <= framed.length; at++) count(framed.slice(at, at + size));
  }
  const vector = new Array(dimensions).fill(0);
  for (const [feature, times] of counts) add(vector, feature, (1 + Math.log(times)) * (feature[0] === "=" ? 2 : 1));
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => Math.round((value / length) * 1e5) / 1e5);
}
require("node:http")
  .createServer((request, answer) => {
    const parts = [];
    request.on("data", (part) => parts.push(part)).on("end", () => {
      const { input, model } = JSON.parse(Buffer.concat(parts).toString());
      const texts = [input].flat();
      const data = texts.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }));
      const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
      answer.writeHead(200, { "content-type": "application/json" });
      answer.end(JSON.stringify({ object: "list", model, data, usage: { prompt_tokens: tokens, total_tokens: tokens } }));
    });
  })
  .listen(0, "127.0.0.1", function () { parentPort.postMessage(this.address().port); });
`;
