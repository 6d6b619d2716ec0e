import { randomBytes } from "node:crypto";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { LoginStore } from "./login-file.ts";

interface LoginOptions {
  /** Where the browser comes back to. */
  readonly redirectUrl: string;
  readonly scope?: string | undefined;
  /** Comes back with the browser. */
  readonly state?: string;
  /** Shows a person the address at which to log in. May throw: then nobody is asked. */
  open(url: URL): void;
}

/** A login as the SDK's client uses and renews it. */
export function mcpLoginProvider(store: LoginStore, options: LoginOptions): OAuthClientProvider {
  const { redirectUrl, scope, state = randomBytes(16).toString("hex") } = options;
  let verifier = "";
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "OpenClaw",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      ...(scope !== undefined && { scope }),
    },
    state: () => state,
    clientInformation: async () => (await store.read()).client,
    saveClientInformation: async (client) => store.write({ ...(await store.read()), client: { ...client } }),
    tokens: async () => (await store.read()).tokens,
    saveTokens: async (tokens) => store.write({ ...(await store.read()), tokens: { ...tokens } }),
    redirectToAuthorization: (url) => options.open(url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    async invalidateCredentials(scope) {
      const { client, tokens } = await store.read();
      if (scope === "all" || scope === "client") await store.write({});
      else if (scope === "tokens" && tokens) await store.write({ client });
    },
  };
}
