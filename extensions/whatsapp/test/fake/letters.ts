import { extractE2ESessionFromRetryReceipt, getBinaryNodeChild } from "@whiskeysockets/baileys";
import type { BinaryNode, WAMessageContent } from "@whiskeysockets/baileys";
import type { Bundle, DeviceKeys } from "./device-keys.ts";
import type { Person, Sealed } from "./person.ts";
import { DEVICE, seconds } from "./stanzas.ts";
import type { Addressing } from "./stanzas.ts";

export interface Saying {
  readonly id?: string;
  readonly by?: Person;
  readonly group?: string;
  /** Whether the sender is named by number or by LID. */
  readonly addressing?: Addressing;
}

interface Letter extends Saying {
  readonly id: string;
  readonly by: Person;
  readonly content: WAMessageContent;
}

/** How often a phone sends a message anew for one device (Baileys: `maxMsgRetryCount`, as in WhatsApp Web). */
const MOST_REPEATS = 5;

/** What people write to the device, and write again when it could not open it. */
export class Letters {
  readonly #keys: DeviceKeys;
  readonly #sent = new Map<string, { readonly letter: Letter; repeats: number }>();

  constructor(keys: DeviceKeys) {
    this.#keys = keys;
  }

  async write(letter: Letter): Promise<BinaryNode> {
    const { by, content, group } = letter;
    this.#sent.set(letter.id, { letter, repeats: 0 });
    if (group === undefined) return stanzaOf(letter, [await by.seal(DEVICE.lid, this.#keys, content)]);
    // The key first: it opens only what is sealed after it was made.
    const key = await by.seal(DEVICE.lid, this.#keys, await by.groupKey(group));
    return stanzaOf(letter, [key, await by.sealForGroup(group, content)]);
  }

  /**
   * The device has sent `<receipt type="retry">`: the sender's phone seals the message for it alone, with the keys that
   * the receipt brings; undefined when it does so no more. A second request means that the conversation is broken, so
   * that a phone which was given no keys asks the server for them.
   */
  async again(receipt: BinaryNode): Promise<BinaryNode | undefined> {
    const sent = this.#sent.get(receipt.attrs["id"]!);
    if (!sent || sent.repeats >= MOST_REPEATS) return undefined;
    sent.repeats++;
    const { letter } = sent;
    const { by, group, content } = letter;
    const count = getBinaryNodeChild(receipt, "retry")!.attrs["count"]!;
    const brought = extractE2ESessionFromRetryReceipt(receipt) as Bundle | null;
    if (brought ?? Number(count) > 1) await by.befriend(DEVICE.lid, brought ?? this.#keys.bundle());
    const whole = group === undefined ? content : { ...content, ...(await by.groupKey(group)) };
    return stanzaOf(letter, [await by.seal(DEVICE.lid, this.#keys, whole)], { count });
  }
}

function stanzaOf(
  { id, by, group, addressing }: Letter,
  sealed: readonly Sealed[],
  how: Record<string, string> = {},
): BinaryNode {
  const isLid = addressing === "lid";
  const [own, alt] = isLid ? [by.lid, by.phone] : [by.phone, by.lid];
  const suffix = isLid ? "pn" : "lid";
  const where =
    group === undefined
      ? { from: own, [`sender_${suffix}`]: alt }
      : { from: group, participant: own, [`participant_${suffix}`]: alt };
  const mode = isLid ? "lid" : "pn";
  return {
    tag: "message",
    attrs: { id, t: seconds(), type: "text", notify: by.name, addressing_mode: mode, ...where },
    content: sealed.map(({ type, bytes }) => ({ tag: "enc", attrs: { v: "2", type, ...how }, content: bytes })),
  };
}
