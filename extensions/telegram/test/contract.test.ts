import { channelContract } from "../../../test/contracts/channel.ts";
import { telegramPlatform } from "../../../test/contracts/telegram-platform.ts";

channelContract("telegram", telegramPlatform);
