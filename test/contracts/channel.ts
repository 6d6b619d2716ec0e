import { afterEach, describe, expect, test } from "vitest";
import { channelContract as suite } from "../../src/api/testing/channel/contract.ts";
import type { AnyPlatform } from "../../src/api/testing/channel/platform.ts";

export { Host } from "../../src/api/testing/channel/host.ts";
export type { AnyPlatform, Platform, PlatformFile } from "../../src/api/testing/channel/platform.ts";
export { closeLater, KEY, start, stopAll, text, textAs } from "../../src/api/testing/channel/running.ts";

/** The exported suite of channels, with this project's Vitest. `open` starts a new fake of the platform. */
export const channelContract = (name: string, open: () => Promise<AnyPlatform>): void =>
  suite({ afterEach, describe, expect, test }, { name, open });
