import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startFakeModel, type ModelReply } from "../fakes/model.ts";

const SCRIPT = fileURLToPath(new URL("peer-call.ts", import.meta.url));
/** AWS's client needs no key for a server on loopback, and asks once. */
const AWS = {
  AWS_BEDROCK_SKIP_AUTH: "1",
  AWS_MAX_ATTEMPTS: "1",
  AWS_EC2_METADATA_DISABLED: "true",
};

/**
 * What each of the replies becomes on its way through the SDK, in a process of its own: the packages of Mistral and AWS
 * name files that they do not ship under the condition that these tests run with.
 */
export async function askEach(api: string, replies: readonly ModelReply[]): Promise<readonly unknown[]> {
  const fake = await startFakeModel();
  try {
    fake.answer((_call, number) => replies[number - 1] ?? "reset");
    return await askServer(api, fake.urlFor(api), { times: replies.length, env: { AWS_BEDROCK_FORCE_HTTP1: "1" } });
  } finally {
    await fake.close();
  }
}

/** The same of a server that the test has started. */
export async function askServer(
  api: string,
  url: string,
  { times = 1, env = {} }: { readonly times?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<readonly unknown[]> {
  const args = [SCRIPT, url, String(times), api];
  const all = { ...process.env, ...AWS, ...env, NODE_OPTIONS: "" };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: all });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
