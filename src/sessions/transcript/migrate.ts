import { createHash } from "node:crypto";
import type { Fields } from "../../utils/fields.ts";
import { TRANSCRIPT_VERSION } from "./entries.ts";

/**
 * Reads the lines of a transcript of version 1 or 2 in their order and gives each as version 3 has it. Version 1 had no ids: each line is
 * the parent of the next one. Version 2 called the role `custom` `hookMessage`. The same lines give the same ids.
 */
export class OlderLines {
  readonly #version: number;
  readonly #ids: string[] = [];
  #seed = "";
  #parent: string | null = null;

  constructor(version: number) {
    this.#version = version;
  }

  /** The next line. The first one is the header. */
  present(fields: Fields): Fields {
    return toCurrent(this.#version < 2 ? this.#linked(fields) : fields);
  }

  #linked(fields: Fields): Fields {
    const isHeader = fields["type"] === "session";
    if (isHeader) this.#seed = String(fields["id"]);
    const id = createHash("sha256").update(`${this.#seed}\n${this.#ids.length}`).digest("hex").slice(0, 16);
    this.#ids.push(id);
    if (isHeader) return fields;
    const linked = { ...this.#withKeptId(fields), id, parentId: this.#parent };
    this.#parent = id;
    return linked;
  }

  /** Version 1 named the first kept entry by its place in the file, the header being 0. */
  #withKeptId(fields: Fields): Fields {
    const { firstKeptEntryIndex: index, ...rest } = fields;
    if (fields["type"] !== "compaction" || typeof index !== "number") return fields;
    return { ...rest, firstKeptEntryId: (index > 0 ? this.#ids[index] : undefined) ?? rest["firstKeptEntryId"] ?? "" };
  }
}

function toCurrent(fields: Fields): Fields {
  if (fields["type"] === "session") return { ...fields, version: TRANSCRIPT_VERSION };
  const message = fields["message"];
  const isHook = fields["type"] === "message" && typeof message === "object" && message !== null && "role" in message;
  if (!isHook || message.role !== "hookMessage") return fields;
  return { ...fields, message: { ...message, role: "custom" } };
}
