export interface ApiKeyAuthOptions {
  readonly providerId: string;
  readonly methodId: string;
  readonly label: string;
  readonly hint?: string;
  /** The environment variable that may hold the key. */
  readonly envVar?: string;
  readonly defaultModel?: string;
  readonly wizard?: unknown;
}

/** A key as the way to use a provider. `run` is not called here: `openclaw models auth add` stores keys. */
export const createProviderApiKeyAuthMethod = ({ providerId, methodId, label, hint, wizard }: ApiKeyAuthOptions) => ({
  id: methodId,
  label,
  hint,
  kind: "api_key" as const,
  wizard,
  run: (): Promise<never> => Promise.reject(new Error(`run: openclaw models auth add --provider ${providerId}`)),
});
