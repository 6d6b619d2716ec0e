import { isIP } from "node:net";
import type { LookupAddress } from "node:dns";
import { areAllowed, fakeRangeOf, whyHostRefused, type HostRules } from "./host-rules.ts";
import { FetchRefused, type Resolve } from "./safe-fetch.ts";

/** The address of a request, where its host may be contacted as far as its name says. Throws `FetchRefused`. */
export function checkedUrl(address: string | URL, rules: HostRules): URL {
  const url = URL.parse(String(address));
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new FetchRefused("scheme", "the address is no web address");
  // `http://0177.1/` means an address that nobody reads in it.
  if (isIP(url.hostname) === 4 && !String(address).includes(url.hostname))
    throw new FetchRefused("address", "the address has its host in an unusual form of a number");
  const why = whyHostRefused(url.hostname, rules);
  if (why !== undefined) throw new FetchRefused("address", `${url.hostname} ${why}`);
  return url;
}

/** undici puts an error of the lookup into the cause of its own. */
export function refusalIn(error: unknown): FetchRefused | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof FetchRefused) return at;
  return undefined;
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Resolves a host for a connection, which then goes to an address that was checked. */
export const checkedLookup =
  (options: HostRules & { readonly resolve?: Resolve }) =>
  (host: string, { all }: { all?: boolean | undefined }, found: Found): void => {
    const resolve = options.resolve ?? systemResolve;
    resolve(host).then(
      (answers) => {
        const addresses = answers.map(({ address }) => address);
        if (!areAllowed(host, addresses, options)) return found(refused(host, addresses), []);
        const [first] = answers;
        if (all === true || !first) return found(null, [...answers]);
        found(null, first.address, first.family);
      },
      (error: unknown) => found(error instanceof Error ? error : new Error(String(error)), []),
    );
  };

function refused(host: string, addresses: readonly string[]): FetchRefused {
  const [fakeRange] = addresses.flatMap((address) => fakeRangeOf(address) ?? []);
  return new FetchRefused("address", `${host} is not on the public internet`, { ...(fakeRange && { fakeRange }) });
}

const systemResolve: Resolve = async (host) => {
  const { lookup } = await import("node:dns/promises");
  return lookup(host, { all: true });
};
