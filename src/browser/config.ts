import { z } from "zod";
import { about, milliseconds } from "../utils/config.ts";

const ssrfPolicy = z.strictObject({
  allowedHostnames: z
    .array(z.string())
    .prefault([])
    .meta(about("Allowed hosts", "Hosts that may have private addresses, such as `localhost`.")),
  blockedHostnames: z
    .array(z.string())
    .prefault([])
    .meta(about("Blocked hosts", "Hosts that are never opened; `*.example.com` names all below `example.com`.")),
  hostnameAllowlist: z
    .array(z.string())
    .prefault([])
    .meta(about("Only these hosts", "The only hosts that may be opened; any when empty.")),
  dangerouslyAllowPrivateNetwork: z
    .boolean()
    .default(false)
    .meta(about("Private network", "Lets pages come from any private address, also those of this machine.")),
});

/** `browser` in the config. */
export const browserConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .meta(about("Enabled", "Gives agents the `browser` tool, which works with a Chromium of this machine.")),
  attachOnly: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Attach only",
        "Starts no browser. Since the tool attaches to none either, `true` takes it away from agents.",
      ),
    ),
  executablePath: z
    .string()
    .min(1)
    .optional()
    .meta(
      about("Program", "The browser's program; when unset, the first of Chromium, Chrome, Brave and Edge in `PATH`."),
    ),
  headless: z.boolean().default(true).meta(about("Headless", "Shows no window.")),
  noSandbox: z
    .boolean()
    .default(false)
    .meta(
      about(
        "No sandbox",
        "Starts the browser without its own sandbox. Needed for root and in many containers; a page that breaks the browser then has the gateway's rights.",
      ),
    ),
  evaluateEnabled: z
    .boolean()
    .default(false)
    .meta(about("Evaluate", "Lets the model run its own JavaScript in pages (`act` with the kind `evaluate`).")),
  actionTimeoutMs: milliseconds
    .default(10_000)
    .meta(about("Action timeout", "Milliseconds for one action on a page; opening a page has three times as long.")),
  defaultProfile: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/)
    .default("openclaw")
    .meta(about("Default profile", "The profile of calls that name none. A profile keeps its logins and cookies.")),
  profiles: z
    .record(z.string().regex(/^[a-z0-9-]{1,40}$/), z.strictObject({}))
    .prefault({})
    .meta(about("Profiles", "Further profiles, by their names; each is an empty object.")),
  extraArgs: z.array(z.string()).prefault([]).meta(about("Arguments", "Further arguments of the browser.")),
  ssrfPolicy: ssrfPolicy
    .prefault({})
    .meta(about("Addresses", "Which hosts pages may come from. Only public addresses by default.")),
});
export type BrowserConfig = z.output<typeof browserConfig>;
