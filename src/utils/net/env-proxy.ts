type Env = Readonly<Record<string, string | undefined>>;

/** The proxy that the environment names for an address (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`); undefined when there is none. */
export function proxyFor({ protocol, hostname }: URL, env: Env): string | undefined {
  const value = (name: string): string | undefined => env[name] ?? env[name.toLowerCase()];
  const without = (value("NO_PROXY") ?? "").split(/[\s,]+/).filter((part) => part !== "");
  if (without.some((part) => part === "*" || isBelow(hostname, part.replace(/^\*?\./, "")))) return undefined;
  const proxy = value(protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  return proxy === undefined || proxy === "" ? undefined : proxy;
}

const isBelow = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
