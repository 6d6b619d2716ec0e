import type { ConversationBranch, ConversationTree, TranscriptEntry } from "../../types/session.ts";
import { BackReader, TranscriptCut } from "./back-reader.ts";
import type { WrittenLink } from "./entries.ts";
import { isHousekeeping } from "./history.ts";
import { openOrMissing } from "./prepare.ts";
import { readLine } from "./read-line.ts";

/** Newest part of a file in which branches are searched: a client asks for them when it opens a chat. */
const MOST = { entries: 20_000, bytes: 64 * 2 ** 20, branches: 50 } as const;

/** The type of the entry that keeps the place at which a client continues a conversation. */
export const PLACE_TYPE = "openclaw.branch";

/** Reads the branches of a transcript, also while a run writes. Rejects when the file cannot be read. */
export async function readBranches(path: string): Promise<Tree> {
  try {
    return new Tree(await nodesOf(path));
  } catch (error) {
    // A torn line is set aside once, when the conversation is opened.
    if (error instanceof TranscriptCut) return new Tree(await nodesOf(path));
    throw error;
  }
}

interface Node {
  readonly id: string;
  readonly parentId: string | null;
  /** Undefined where the entry cannot be read. */
  readonly entry?: TranscriptEntry | undefined;
}

/** The entries of a file, the newest first. */
async function nodesOf(path: string): Promise<readonly Node[]> {
  const file = await openOrMissing(path, "r");
  if (!file) return [];
  try {
    const reader = new BackReader(file, (await file.stat()).size);
    const links: WrittenLink[] = [];
    for (let raw = await reader.previous(); raw; raw = await reader.previous()) {
      links.push(
        ...readLine(raw)
          .entries.map(({ link }) => link)
          .toReversed(),
      );
      if (links.length > MOST.entries || reader.bytesRead > MOST.bytes) break;
    }
    // An entry that names no parent follows the one in front of it.
    return links.map((link, at) => ({
      ...link,
      parentId: link.parentId ?? (link.parentId === null ? null : (links[at + 1]?.id ?? null)),
    }));
  } finally {
    await file.close();
  }
}

export class Tree implements ConversationTree {
  /** By id, the newest first; of two entries with the same id the later one counts. */
  readonly #nodes = new Map<string, Node>();
  readonly #active: ReadonlySet<string>;
  readonly #leafId: string | undefined;

  constructor(nodes: readonly Node[]) {
    for (const node of nodes) if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
    const [last, inFront] = nodes;
    // Somebody may have exchanged the last two.
    const leaf = last && inFront?.parentId === last.id ? inFront : last;
    this.#leafId = leaf?.id;
    this.#active = new Set(leaf ? this.#path(leaf.id).map(({ id }) => id) : []);
  }

  find(id: string): ReturnType<ConversationTree["find"]> {
    const node = this.#nodes.get(id);
    return node?.entry && { entry: node.entry, isActive: this.#active.has(id) };
  }

  /** The entries from the root to this one, or to the last one of the active branch, as lines of a file of their own. */
  linesTo(id = this.#leafId): readonly string[] {
    const entries = id === undefined ? [] : this.#path(id).flatMap(({ entry }) => entry ?? []);
    const oldest = entries.toReversed();
    return oldest.map((entry, at) => JSON.stringify({ ...entry, parentId: oldest[at - 1]?.id ?? null }));
  }

  get branches(): readonly ConversationBranch[] {
    const parents = new Set([...this.#nodes.values()].map(({ parentId }) => parentId));
    const tips = [...this.#nodes.keys()].filter((id) => id === this.#leafId || !parents.has(id));
    const found = new Map<string, ConversationBranch>();
    for (const branch of tips.flatMap((id) => this.#branch(id) ?? [])) {
      const known = found.get(branch.leafId);
      if (!known || branch.isActive) found.set(branch.leafId, branch);
    }
    return [...found.values()].slice(0, MOST.branches);
  }

  /** The last entry of a branch that says something; entries after it only keep the place where somebody went on. */
  #saidLeaf(tip: string): string {
    const said = this.#path(tip).find(({ entry }) => entry?.type !== "custom" || entry.customType !== PLACE_TYPE);
    return said?.id ?? tip;
  }

  /** Undefined for one in which nobody asked and was answered, such as a turn that was left out of the conversation. */
  #branch(tip: string): ConversationBranch | undefined {
    const isActive = tip === this.#leafId;
    const leafId = this.#saidLeaf(tip);
    const messages = this.#path(tip).flatMap(({ entry }) => (entry?.type === "message" ? entry : []));
    const own = messages.filter(({ id }) => !this.#active.has(id));
    const isConversation =
      own.some(({ message }) => message.role === "assistant") &&
      own.some(({ message }) => message.role === "user" && !isHousekeeping(message));
    return isActive || isConversation ? { leafId, isActive, messages } : undefined;
  }

  /** From an entry towards the root. Ends at an entry that is not there, and at one that was passed before. */
  #path(from: string): readonly Node[] {
    const path = new Set<Node>();
    for (let node = this.#nodes.get(from); node && !path.has(node); node = this.#nodes.get(node.parentId ?? ""))
      path.add(node);
    return [...path];
  }
}
