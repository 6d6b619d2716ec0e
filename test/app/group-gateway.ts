import { afterEach } from "vitest";
import { startFakeModel } from "../fakes/model.ts";
import { type GatewayFixture, startGatewayFixture } from "../kit/gateway/in-process.ts";

/** The group of these tests. */
export const GROUP = { id: -100, type: "supergroup", title: "crew" };

/**
 * Starts a gateway in this process with these settings of its Telegram account, which answers in open groups by "noted". It is closed
 * after the test.
 */
export function groupGateways(usual: Record<string, unknown>) {
  const closes: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closes.splice(0).toReversed()) await close();
  });
  return async (account: Record<string, unknown> = {}) => {
    const model = await startFakeModel();
    closes.push(() => model.close());
    model.answer(() => ({ text: "noted" }));
    const open = { groupPolicy: "open", streaming: { mode: "off" }, ...usual };
    const fixture: GatewayFixture = await startGatewayFixture({ ...open, ...account }, model.url);
    closes.push(() => fixture.close());
    return { model, fixture };
  };
}
