import { z } from "zod";
import { ownerAnswers } from "../../../types/answers/owners.ts";
import { type Answer, asRefusal, defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";
import { writeConfigValues } from "../../config/edit/write.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import { reloadConfig } from "../lifecycle/reload.ts";
import type { Parts } from "../parts/parts.ts";

const person = z.looseObject({ channel: z.string().min(1).max(100), senderId: z.string().min(1).max(256) });
type Person = z.output<typeof person>;

/** The methods about the owners of channels: the people of `commands.ownerAllowFrom`. */
export function ownerMethods(parts: Parts): readonly Method[] {
  const edits = new KeyedQueue();
  const change = (edit: (entries: readonly string[]) => readonly string[]) =>
    edits.run("owners", async () => {
      const before = entriesOf(parts);
      const after = edit(before);
      if (after.join("\n") !== before.join("\n")) await write(parts, after);
      return { ok: true, owners: after.map(shownOwner) };
    });
  return [
    defineMethod({
      name: "owners.list",
      scope: "operator.pairing",
      params: z.looseObject({}),
      result: ownerAnswers.list,
      run: async () => ({ owners: entriesOf(parts).map(shownOwner), linked: await linkedOf(parts) }),
    }),
    defineMethod({
      name: "owners.add",
      scope: "operator.admin",
      params: person,
      result: ownerAnswers.changed,
      run: (asked) => change((entries) => (isOwner(entries, asked) ? entries : [...entries, entryOf(asked)])),
    }),
    defineMethod({
      name: "owners.remove",
      scope: "operator.admin",
      params: z.looseObject({ entry: z.string().min(1).max(400) }),
      result: ownerAnswers.changed,
      run: ({ entry }) =>
        change((entries) => {
          if (!entries.includes(entry)) throw new MethodError("NOT_FOUND", `${entry} is no owner`);
          return entries.filter((one) => one !== entry);
        }),
    }),
  ];
}

const entriesOf = ({ live }: Pick<Parts, "live">): readonly string[] => live.config.commands.ownerAllowFrom.map(String);

const entryOf = ({ channel, senderId }: Person): string => `${channel}:${senderId}`;

const isOwner = (entries: readonly string[], asked: Person): boolean =>
  entries.includes(entryOf(asked)) || entries.includes(asked.senderId);

function shownOwner(entry: string) {
  const [, channel, senderId] = /^([a-z][\w-]*):(.+)$/i.exec(entry) ?? [];
  return channel === undefined || senderId === undefined ? { entry, senderId: entry } : { entry, channel, senderId };
}

/** A linked device belongs to the person whose account it is. The account of a bot belongs to nobody who writes. */
async function linkedOf({ channels, live }: Parts) {
  const entries = entriesOf({ live });
  const found: Linked[] = [];
  for (const { channel, label, accountId, self } of channels.status()) {
    if (self === undefined || isOwner(entries, { channel, senderId: self.id })) continue;
    const adapter = await live.contributions.channel(channel)?.adapter();
    if (adapter?.login) found.push({ channel, channelLabel: label, accountId, senderId: self.id, name: self.name });
  }
  return found;
}

type Linked = Answer<z.output<typeof ownerAnswers.list>>["linked"][number];

async function write(parts: Parts, entries: readonly string[]): Promise<void> {
  const { live } = parts;
  const edit = { path: ["commands", "ownerAllowFrom"], value: [...entries] };
  try {
    await writeConfigValues(await loadOptionsFor(live.contributions, live.paths), [edit]);
  } catch (error) {
    throw asRefusal(error);
  }
  const { mode } = live.started.gateway.reload;
  if (mode !== "off" && mode !== "restart") await reloadConfig(parts);
}
