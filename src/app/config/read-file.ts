import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { readBytes } from "../../utils/read-regular.ts";

/** Bytes; a config of the field has a few thousand, and what takes long to parse keeps the whole gateway waiting. */
const MOST_BYTES = 1024 * 1024;

/** Nothing but a file, through links too: a named pipe would be waited for without end, and a device has no end. Throws. */
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
