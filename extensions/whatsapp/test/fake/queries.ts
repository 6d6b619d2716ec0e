import type { BinaryNode } from "@whiskeysockets/baileys";
import type { DeviceKeys } from "./device-keys.ts";
import type { Directory } from "./directory.ts";
import { children, groupNode, mediaHosts } from "./stanzas.ts";

interface Known {
  readonly keys: DeviceKeys;
  readonly directory: Directory;
  /** Ids of devices that took their link back. */
  readonly unlinked: string[];
  readonly port: number;
}

/** What the server answers to `iq` stanzas. */
export class Queries {
  readonly #known: Known;

  constructor(known: Known) {
    this.#known = known;
  }

  answer(node: BinaryNode): BinaryNode[] {
    const { keys, directory, unlinked, port } = this.#known;
    const { attrs, content } = node;
    const first = Array.isArray(content) ? content[0] : undefined;
    switch (`${attrs["xmlns"]} ${first?.tag}`) {
      case "encrypt count":
        return [{ tag: "count", attrs: { value: String(keys.count) } }];
      case "encrypt registration":
        keys.take(node);
        return [];
      case "encrypt digest":
        return [{ tag: "digest", attrs: {} }];
      case "encrypt key":
        return [
          { tag: "list", attrs: {}, content: children(first).map(({ attrs }) => directory.bundleOf(attrs["jid"]!)) },
        ];
      case "md remove-companion-device":
        unlinked.push(first!.attrs["jid"]!);
        return [];
      case "privacy privacy":
        return [
          { tag: "privacy", attrs: {}, content: [{ tag: "category", attrs: { name: "readreceipts", value: "all" } }] },
        ];
      case "usync usync":
        return [directory.devices(first!)];
      case "w:g2 query":
        return [groupNode(directory.members, directory.addressing)];
      case "w:m media_conn":
        return [mediaHosts(port)];
      default:
        return [];
    }
  }
}
