import { expect, test } from "vitest";
import { DiskState } from "../../../src/app/gateway/disk/disk-state.ts";
import { DiskNotices } from "../../../src/app/gateway/disk/disk-notices.ts";
import { diskFull } from "../../../src/store/disk.ts";
import type { ChannelLink } from "../../../src/types/chat/channel.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import { nextMessage, peer } from "../../kit/inbound.ts";
import { recordLog } from "../../kit/log.ts";
import { manualClock } from "../../kit/clock.ts";

const FULL = diskFull("/state", new Error("ENOSPC"));
const TEN_MINUTES = 600_000;

function stage(refuses: (to: Peer) => boolean = () => false) {
  const told: string[] = [];
  const clock = manualClock();
  const log = recordLog();
  const disk = new DiskState({ probe: async () => undefined, log, clock });
  const link: ChannelLink = {
    async send(to) {
      if (refuses(to)) throw new Error("403: bot was blocked by the user");
      told.push(to.chat.id);
      return { kind: "sent", messageId: "1" };
    },
    close: async () => undefined,
  };
  return { told, clock, log, notices: new DiskNotices({ link: () => link, log, clock, disk }) };
}

const from = (id: string, kind: "direct" | "group" = "direct") =>
  nextMessage("hi", id, { from: { ...peer(id), chat: { kind, id } } });

test("a chat that cannot be notified keeps no other chat from its notice, and fails nothing", async () => {
  const { told, log, notices } = stage((to) => to.chat.id === "blocked");
  await notices.waiting([from("blocked"), from("2")], FULL);
  await expect(notices.refused([from("blocked")], FULL)).resolves.toBeUndefined();
  expect(told).toEqual(["2"]);
  expect(log.lines).toContain("warn notice of the disk not sent: 403: bot was blocked by the user");
});

test("a chat is notified once in ten minutes", async () => {
  const { told, clock, notices } = stage();
  await notices.waiting([from("1"), from("1")], FULL);
  clock.pass(TEN_MINUTES - 1);
  await notices.waiting([from("1")], FULL);
  expect(told).toEqual(["1"]);
  clock.pass(1);
  await notices.waiting([from("1")], FULL);
  expect(told).toEqual(["1", "1"]);
});

test("a group is notified only about messages that were admitted", async () => {
  const { told, notices } = stage();
  await notices.refused([from("g", "group"), from("1")], FULL);
  expect(told).toEqual(["1"]);
  await notices.waiting([from("g", "group")], FULL);
  expect(told).toEqual(["1", "g"]);
});
