import { BoundedMap } from "openclaw/plugin-sdk";
import type { Peer } from "openclaw/plugin-sdk";
import { z } from "zod";
import { addressOf, isSame, personOf } from "../people.ts";
import type { Person } from "../people.ts";
import type { Daemon } from "../rpc.ts";

const member = z.union([
  z.string().transform((either) => personOf(undefined, undefined, either)),
  z
    .looseObject({ number: z.string().nullish(), uuid: z.string().nullish() })
    .transform(({ number, uuid }) => personOf(uuid, number)),
]);
const groupList = z.array(z.looseObject({ id: z.string(), members: z.array(member) }));

/** How long a list of members is used, and how long a send waits for one. */
const FRESH_MS = 5 * 60_000;
const ASK_MS = 3000;
/** The pause after a failed request, as a streamed answer would repeat it with each edit. */
const AGAIN_MS = 30_000;

/** An `@` with a phone number or a Signal id, which identify one member. */
const NAMED = /(?<![\w@])@(?:(\+\d{7,15})|(?:uuid:)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))\b/gi;

/** The members of groups, for mentions in texts. */
export class Members {
  readonly #daemon: Daemon;
  readonly #known = new BoundedMap<string, { readonly people: readonly Person[]; readonly until: number }>(200);

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /**
   * The members of a group that a text mentions, in the form of signal-cli's `send`: `start:length:recipient`, in UTF-16 units of the
   * text (man page signal-cli(1), `--mention`). Never rejects.
   */
  async namedIn(text: string, { chat }: Peer): Promise<readonly string[]> {
    if (chat.kind !== "group" || text.search(NAMED) < 0) return [];
    const people = await this.#of(chat.id);
    return [...text.matchAll(NAMED)].flatMap((match) => {
      const [word, number, uuid] = match;
      const named = { number, uuid: uuid?.toLowerCase() };
      const person = people.find((one) => isSame(one, named));
      const address = person && addressOf(person);
      return address === undefined ? [] : [`${match.index}:${word.length}:${address}`];
    });
  }

  async #of(groupId: string): Promise<readonly Person[]> {
    const known = this.#known.get(groupId);
    if (known && known.until > Date.now()) return known.people;
    const answer = await this.#daemon.call("listGroups", { groupId: [groupId] }, { timeoutMs: ASK_MS });
    const groups = answer.kind === "done" ? groupList.safeParse(answer.result).data : undefined;
    // Without an answer, an older list is used; without one, the text stays as it is.
    const people = groups ? (groups.find(({ id }) => id === groupId)?.members ?? []) : (known?.people ?? []);
    this.#known.set(groupId, { people, until: Date.now() + (groups ? FRESH_MS : AGAIN_MS) });
    return people;
  }
}
