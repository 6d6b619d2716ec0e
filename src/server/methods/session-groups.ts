import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";

type Ports = Pick<ServerPorts, "sessions" | "sessionGroups">;

const name = z.string().trim().min(1).max(128);
const groups = z.looseObject({
  groups: z.array(z.looseObject({ name: z.string(), position: z.number() })),
  sectionOrder: z.array(z.string()),
});
const changed = groups.extend({ ok: z.boolean(), updatedSessions: z.number().optional() });

/** Methods for the groups into which a person sorts sessions: the names, in order. A session names its group as `category`. */
export const sessionGroupMethods = ({ sessions, sessionGroups }: Ports): readonly Method[] => {
  /** The kept names, and after them those that only sessions have. */
  const all = async () => {
    const kept = await sessionGroups.read();
    const used = sessions.list().flatMap(({ entry: { category } }) => (category === undefined ? [] : [category]));
    return [...new Set([...kept, ...used])];
  };
  const shown = (names: readonly string[]) => ({
    groups: names.map((one, position) => ({ name: one, position })),
    sectionOrder: [],
  });
  /** Gives the sessions of a group another one, or none. Returns how many there were. */
  const move = async (from: string, to: string | undefined) => {
    const rows = sessions.list().filter(({ entry }) => entry.category === from);
    for (const { key } of rows) await sessions.patch(key, { category: to }, { now: true });
    return rows.length;
  };
  const known = async (wanted: string) => {
    const names = await all();
    if (!names.includes(wanted)) throw new MethodError("NOT_FOUND", `there is no group "${wanted}"`);
    return names;
  };
  return [
    defineMethod({
      name: "sessions.groups.list",
      scope: "operator.read",
      params: z.looseObject({}),
      result: groups,
      run: async () => shown(await all()),
    }),
    defineMethod({
      name: "sessions.groups.defaults",
      scope: "operator.read",
      params: z.looseObject({}),
      result: z.looseObject({ defaults: z.array(z.looseObject({ name: z.string() })) }),
      run: async () => ({ defaults: (await all()).map((one) => ({ name: one })) }),
    }),
    defineMethod({
      name: "sessions.groups.put",
      scope: "operator.write",
      params: z.looseObject({ names: z.array(name).max(200) }),
      result: changed,
      run: async ({ names }) => {
        await sessionGroups.write([...new Set(names)]);
        return { ok: true, ...shown(await all()) };
      },
    }),
    defineMethod({
      name: "sessions.groups.rename",
      scope: "operator.write",
      params: z.looseObject({ name, to: name }),
      result: changed,
      run: async ({ name: from, to }) => {
        const names = await known(from);
        await sessionGroups.write([...new Set(names.map((one) => (one === from ? to : one)))]);
        const updatedSessions = await move(from, to);
        return { ok: true, ...shown(await all()), updatedSessions };
      },
    }),
    defineMethod({
      name: "sessions.groups.delete",
      scope: "operator.write",
      params: z.looseObject({ name }),
      result: changed,
      run: async ({ name: gone }) => {
        const names = await known(gone);
        const updatedSessions = await move(gone, undefined);
        await sessionGroups.write(names.filter((one) => one !== gone));
        return { ok: true, ...shown(await all()), updatedSessions };
      },
    }),
  ];
};
