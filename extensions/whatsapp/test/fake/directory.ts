import type { BinaryNode } from "@whiskeysockets/baileys";
import { userOf } from "../../jid.ts";
import { Person } from "./person.ts";
import { children, DEVICE, SERVER } from "./stanzas.ts";
import type { Addressing } from "./stanzas.ts";

/** Who is there, and with which devices. */
export class Directory {
  readonly ada = new Person(`4917012345@${SERVER}`, "111111@lid", "Ada");
  readonly bob = new Person(`4917067890@${SERVER}`, "222222@lid", "Bob");
  readonly #owner = new Person(DEVICE.jid, DEVICE.lid, DEVICE.name);
  /** By the users of their two addresses. */
  readonly #people = new Map<string, Person>();

  constructor() {
    for (const person of [this.ada, this.bob]) this.add(person);
  }

  add(person: Person): void {
    for (const own of [person.phone, person.lid]) this.#people.set(userOf(own), person);
  }

  /** How the group calls its people. */
  addressing: Addressing = "pn";
  /** The group tells no numbers. */
  hidesNumbers = false;

  get members() {
    return [this.ada, this.bob].map(({ phone, lid }) => ({ phone, lid, hidesNumber: this.hidesNumbers }));
  }

  /** Who of the group is marked in a text: named by the group's own address, with its digits in the text. */
  marked(text: string, mentioned: readonly string[]): readonly string[] {
    const people = [this.ada, this.bob].filter((one) => {
      const address = this.addressing === "lid" ? one.lid : one.phone;
      return mentioned.includes(address) && text.includes(`@${userOf(address)}`);
    });
    return people.map(({ name }) => name);
  }

  find(jid: string): Person | undefined {
    return this.#people.get(userOf(jid));
  }

  /** The keys with which a session to somebody begins. */
  bundleOf(jid: string): BinaryNode {
    return (this.find(jid) ?? this.#owner).bundle(jid);
  }

  /** The answer to a `usync` query. */
  devices(usync: BinaryNode): BinaryNode {
    const list = children(usync).find(({ tag }) => tag === "list");
    const users = children(list).map(({ attrs }) => this.#user(attrs["jid"]!));
    return { tag: "usync", attrs: {}, content: [{ tag: "list", attrs: {}, content: users }] };
  }

  #user(jid: string): BinaryNode {
    const known = this.find(jid);
    const phone = { tag: "device", attrs: { id: "0" } };
    const devices = known ? [phone] : [phone, { tag: "device", attrs: { id: "1", "key-index": "1" } }];
    const lid = known?.lid ?? DEVICE.lid.replace(":1", "");
    return {
      tag: "user",
      attrs: { jid },
      content: [
        { tag: "devices", attrs: {}, content: [{ tag: "device-list", attrs: {}, content: devices }] },
        { tag: "lid", attrs: { val: lid } },
      ],
    };
  }
}
