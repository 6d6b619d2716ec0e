import { about, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

/** The channel's own keys; the keys that every channel has belong to the core. */
export const exampleConfig = z.looseObject({
  apiUrl: z.url().meta(about("API address", "Address of the platform's API.")),
  token: secretField.meta(about("Token", "The bot's token.")),
});

export type ExampleConfig = z.output<typeof exampleConfig>;
