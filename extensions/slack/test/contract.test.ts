import { channelContract } from "../../../test/contracts/channel.ts";
import { slackPlatform } from "./slack-platform.ts";

channelContract("slack", slackPlatform);
