import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startFakeModel, type ModelReply } from "../fakes/model.ts";

const SCRIPT = fileURLToPath(new URL("peer-call.ts", import.meta.url));
/** AWS's client needs no key and no HTTP/2 for a server on loopback, and asks once. */
const AWS = {
  AWS_BEDROCK_SKIP_AUTH: "1",
  AWS_BEDROCK_FORCE_HTTP1: "1",
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
    const args = [SCRIPT, fake.urlFor(api), String(replies.length), api];
    const env = { ...process.env, ...AWS, NODE_OPTIONS: "" };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } finally {
    await fake.close();
  }
}
