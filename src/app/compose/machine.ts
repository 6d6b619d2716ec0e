import os from "node:os";
import { join } from "node:path";
import { packageRoot } from "../package-root.ts";

/** What the system prompt says of the machine. Read once: each of them is a system call. */
export const MACHINE = {
  host: os.hostname(),
  os: `${os.type()} ${os.release()}`,
  arch: os.arch(),
  node: process.version,
};

/** The folder of the gateway's own documentation. */
export const DOCS_PATH = join(packageRoot, "docs");
