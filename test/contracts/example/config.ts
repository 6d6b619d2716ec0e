import { about, ofLogin, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

/** The channel's own keys; the keys that every channel has belong to the core. */
export const exampleConfig = z.looseObject({
  apiUrl: z.url().meta(ofLogin(about("API address", "Address of the platform's API."), "server")),
  token: secretField.meta(ofLogin(about("Token", "The bot's token."))),
});

export type ExampleConfig = z.output<typeof exampleConfig>;
