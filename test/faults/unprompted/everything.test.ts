import { expect, test } from "vitest";
import type { ModelReply } from "../../fakes/model.ts";
import { isUp, walkConfig } from "../../kit/gateway/process.ts";
import { ADA, type FaultFixture, useFaultFixture } from "../fixture.ts";
import { killedDiscord } from "../platforms/discord.ts";
import type { KilledPlatform } from "../platforms/platform.ts";
import { random } from "../random.ts";
import { expectKnownCalls, expectToldOnce, obeyed } from "./asked-subagents.ts";
import { addJob, endJobs, expectSlots, type Job } from "./jobs.ts";
import { isQuiet, quiet, rowsOf } from "./rows.ts";

/** More of them with e.g. OPENCLAW_UNPROMPTED_KILLS=200. */
const KILLS = Number(process.env["OPENCLAW_UNPROMPTED_KILLS"] ?? 10);
const ONCE = 40;
const REPEATED = 10;
const EVERY_MS = 10_000;
/** Messages that ask for four subagents each. */
const MESSAGES = 5;
/** About how long a gateway lives. */
const LIFE_MS = 1200;

const fixture = useFaultFixture();

/** Jobs that are due while gateways come and go, half of them for each chat. */
function wantedJobs(next: (below: number) => number) {
  const now = Date.now();
  return Array.from({ length: ONCE + REPEATED }, (_, index) => {
    const isOnce = index < ONCE;
    return {
      name: `job-${index}`,
      first: now + 3000 + next(isOnce ? KILLS * LIFE_MS : EVERY_MS),
      ...(!isOnce && { everyMs: EVERY_MS }),
      delivery: index % 2 === 0 ? { channel: "telegram", to: String(ADA) } : { channel: "discord", to: `user:${ADA}` },
    };
  });
}

/** Kills a gateway when the model has been called so many times, or when there is nothing to do. */
class Killer {
  #left = Number.POSITIVE_INFINITY;
  #strike: () => void = () => undefined;

  count(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#strike();
  }

  async moment(calls: number, isIdle: () => boolean): Promise<void> {
    this.#left = calls;
    const bored = setInterval(() => isIdle() && this.#strike(), 100);
    await new Promise<void>((resolve) => (this.#strike = resolve));
    clearInterval(bored);
    this.#strike = () => undefined;
  }
}

async function start(at: FaultFixture, discord: KilledPlatform) {
  discord.reconnect();
  const gateway = await at.start();
  await gateway.logged(isUp("discord"));
  while (!discord.isListening()) await new Promise((look) => setTimeout(look, 10));
  return gateway;
}

test(
  `${ONCE + REPEATED} jobs, twenty subagents and two channels over ${KILLS} random kills: nothing is lost or doubled`,
  async () => {
    const at = fixture();
    const discord = await killedDiscord();
    const { channels, ...rest } = walkConfig(at.telegram, at.model, { commands: { ownerAllowFrom: [String(ADA)] } });
    const open = { enabled: true, dmPolicy: "open", allowFrom: ["*"] };
    await at.home.writeConfig({ ...rest, channels: { ...channels, discord: { ...discord.channel, ...open } } });
    const [next, killer] = [random(11), new Killer()];
    let calls = 0;
    at.model.answer((call): ModelReply => {
      killer.count();
      const job = /report (job-\d+);/.exec(call.said)?.[1];
      return job === undefined ? obeyed(call) : { text: `report of ${job} #${(calls += 1)}` };
    });
    let said = 0;
    const sayOne = () => {
      if (said >= MESSAGES) return;
      const text = `please start ${["a", "b", "c", "d"].map((name) => `kid-${said}${name}`).join(" ")}`;
      if (said % 2 === 0) at.telegram.say(text);
      else discord.say(0, text);
      said += 1;
    };
    const jobs: Job[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const gateway = await start(at, discord);
      if (kill === 0) for (const wanted of wantedJobs(next)) jobs.push(await addJob(gateway, wanted));
      if (kill % Math.ceil(KILLS / MESSAGES) === 0) sayOne();
      await killer.moment(1 + next(8), () => isQuiet(at));
      gateway.signal("SIGKILL");
      await gateway.ended;
    }
    while (said < MESSAGES) sayOne();
    const last = await start(at, discord);
    const begun = (job: Job) => rowsOf(at).some(({ key }) => key.startsWith(`cron:${job.id}:`));
    while (!jobs.every(begun)) await new Promise((look) => setTimeout(look, 50));
    await endJobs(last, jobs);
    await quiet(at);
    const [onTelegram, onDiscord] = [at.telegram.shown(ADA), await discord.shown(0)];
    const slots = expectSlots(at, jobs, ({ delivery }) => (delivery.channel === "telegram" ? onTelegram : onDiscord));
    expect(slots).toBeGreaterThanOrEqual(ONCE + REPEATED);
    expectToldOnce(at, [...onTelegram, ...onDiscord]);
    await expectKnownCalls(at);
    const people = rowsOf(at).filter(({ kind }) => kind === undefined);
    expect(people).toHaveLength(MESSAGES);
    expect(await last.kill("SIGTERM")).toBe(0);
    await discord.close();
  },
  KILLS * 20_000 + 120_000,
);
