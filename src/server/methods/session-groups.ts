import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";
import type { Hub } from "../transport/hub.ts";

type Ports = Pick<ServerPorts, "sessions" | "sessionGroups" | "clock">;

const name = z.string().trim().min(1).max(128);
const groups = z.looseObject({
  groups: z.array(z.looseObject({ name: z.string(), position: z.number() })),
  sectionOrder: z.array(z.string()),
});
const changed = groups.extend({ ok: z.boolean(), updatedSessions: z.number().optional() });

/** The groups into which a person sorts sessions: the names, in order. A session names its group as `category`. */
class Groups {
  readonly #ports: Ports;
  readonly #hub: Pick<Hub, "publish">;

  constructor(ports: Ports, hub: Pick<Hub, "publish">) {
    this.#ports = ports;
    this.#hub = hub;
  }

  /** The kept names, and after them those that only sessions have. */
  async all(): Promise<readonly string[]> {
    const { sessions, sessionGroups } = this.#ports;
    const used = sessions.list().flatMap(({ entry: { category } }) => (category === undefined ? [] : [category]));
    return [...new Set([...(await sessionGroups.read()), ...used])];
  }

  async shown() {
    const names = await this.all();
    return { groups: names.map((one, position) => ({ name: one, position })), sectionOrder: [] };
  }

  async keep(names: readonly string[]): Promise<void> {
    const { sessionGroups, clock } = this.#ports;
    await sessionGroups.write([...new Set(names)]);
    const payload = { reason: "groups", ts: clock.now() };
    this.#hub.publish({ event: "sessions.changed", payload, scope: "operator.read" });
  }

  /** Gives a group another name, or takes it away; its sessions follow. Throws `MethodError` when there is no such group. */
  async change(from: string, to: string | undefined) {
    const names = await this.all();
    if (!names.includes(from)) throw new MethodError("NOT_FOUND", `there is no group "${from}"`);
    const rest = names.map((one) => (one === from ? to : one)).filter((one) => one !== undefined);
    const { sessions } = this.#ports;
    const rows = sessions.list().filter(({ entry }) => entry.category === from);
    await Promise.all(rows.map(({ key }) => sessions.patch(key, { category: to }, { now: true })));
    await this.keep(rest);
    return { ok: true, ...(await this.shown()), updatedSessions: rows.length };
  }
}

/** Methods for the groups of sessions. */
export function sessionGroupMethods(ports: Ports, hub: Pick<Hub, "publish">): readonly Method[] {
  const all = new Groups(ports, hub);
  return [
    defineMethod({
      name: "sessions.groups.list",
      scope: "operator.read",
      params: z.looseObject({}),
      result: groups,
      run: () => all.shown(),
    }),
    defineMethod({
      name: "sessions.groups.defaults",
      scope: "operator.read",
      params: z.looseObject({}),
      result: z.looseObject({ defaults: z.array(z.looseObject({ name: z.string() })) }),
      run: async () => ({ defaults: (await all.all()).map((one) => ({ name: one })) }),
    }),
    defineMethod({
      name: "sessions.groups.put",
      scope: "operator.write",
      params: z.looseObject({ names: z.array(name).max(200) }),
      result: changed,
      run: async ({ names }) => {
        await all.keep(names);
        return { ok: true, ...(await all.shown()) };
      },
    }),
    defineMethod({
      name: "sessions.groups.rename",
      scope: "operator.write",
      params: z.looseObject({ name, to: name }),
      result: changed,
      run: ({ name: from, to }) => all.change(from, to),
    }),
    defineMethod({
      name: "sessions.groups.delete",
      scope: "operator.write",
      params: z.looseObject({ name }),
      result: changed,
      run: ({ name: gone }) => all.change(gone, undefined),
    }),
  ];
}
