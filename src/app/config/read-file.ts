import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { readBytes } from "../../utils/read-regular.ts";

/** Bytes. A typical config has a few thousand; a file that takes long to parse would block the gateway. */
const MOST_BYTES = 1024 * 1024;

/** Reads a regular file, through links too. Throws on anything else: a named pipe would block, and a device has no end. */
export async function readConfigFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error("it is not a regular file");
    if (facts.size > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES / 1024} KB`);
    return (await readBytes(file, facts.size)).toString("utf8");
  } finally {
    await file.close();
  }
}
