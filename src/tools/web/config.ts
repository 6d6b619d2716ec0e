import { z } from "zod";
import { about } from "../../utils/config.ts";

const hosts = z.array(z.string()).prefault([]);

const ssrfPolicy = z.strictObject({
  allowedHostnames: hosts.meta(about("Allowed hosts", "Hosts that may have private addresses, such as `localhost`.")),
  hostnameAllowlist: hosts.meta(
    about("Only these hosts", "The only hosts that are asked: `example.org`, or `*.example.org`; any when empty."),
  ),
  blockedHostnames: hosts.meta(about("Blocked hosts", "Hosts that are never asked, in the same form.")),
  dangerouslyAllowPrivateNetwork: z
    .boolean()
    .default(false)
    .meta(about("Private network", "Allows private addresses everywhere, also those of this machine.")),
  allowRfc2544BenchmarkRange: z
    .boolean()
    .default(false)
    .meta(
      about("Benchmark range", "Allows 198.18.0.0/15, with which some proxies on this machine answer for every name."),
    ),
  allowIpv6UniqueLocalRange: z
    .boolean()
    .default(false)
    .meta(
      about("Unique local range", "Allows fc00::/7, with which some proxies on this machine answer for every name."),
    ),
});

/** `tools.web.fetch` */
export const webFetchConfig = z.strictObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Gives agents the tool `web_fetch`.")),
  maxChars: z.int().min(100).default(20_000).meta(about("Length", "Most characters of a page when a call names none.")),
  maxCharsCap: z.int().min(100).default(20_000).meta(about("Greatest length", "Most characters that a call may name.")),
  maxResponseBytes: z
    .int()
    .min(32_000)
    .max(10_000_000)
    .default(750_000)
    .meta(about("Size", "Bytes of an answer that are read, also after it has been decompressed.")),
  timeoutSeconds: z.number().positive().max(300).default(30).meta(about("Timeout", "Seconds for the whole of a call.")),
  cacheTtlMinutes: z.number().min(0).default(15).meta(about("Cache", "Minutes for which a page is kept; 0 for never.")),
  maxRedirects: z.int().min(0).max(10).default(3).meta(about("Redirects", "Most redirects that are followed.")),
  userAgent: z.string().min(1).optional().meta(about("User agent", "How the tool introduces itself to servers.")),
  readability: z.boolean().default(true).meta(about("Readability", "Leaves out what is around the article of a page.")),
  useTrustedEnvProxy: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Proxy",
        "Asks through the proxy of the environment (`HTTPS_PROXY`). It resolves the names then, so private addresses cannot be refused here.",
      ),
    ),
  ssrfPolicy: ssrfPolicy
    .prefault({})
    .meta(about("Addresses", "Which hosts may be asked. Only public ones by default.")),
});
export type WebFetchSettings = z.output<typeof webFetchConfig>;
